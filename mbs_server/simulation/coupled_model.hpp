/// A model with its contact partner and the last state that was committed: what a Simulation steps, and what analyses
/// of prescribed motion and of equilibrium put into one state after the other.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "scenario/scenario.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_force.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/coupling/monolithic.hpp"
#include "mbs_server/formulation/assembly.hpp"
#include "mbs_server/formulation/system.hpp"
#include "mbs_server/simulation/episode_tracker.hpp"
#include "mbs_server/simulation/run_problem.hpp"
#include "mbs_server/simulation/run_state.hpp"

namespace heelstrike::mbs {

/// The last committed state.
struct CommittedState {
  double t = 0.0;  ///< [s]
  VectorX y;       ///< {q, qd, s}, see System; empty = nothing has been committed
  VectorX z;       ///< quadratures, see EnergyQuadrature
};

class CoupledModel {
 public:
  /// Builds the equations of motion; the contact is not there yet.
  /// @param scenario  outlives this object
  /// @param scheme    of a motion that is stepped; who puts states in asks the partner at each of them
  CoupledModel(const Scenario& scenario, const Model& model, std::stop_token stop,
               const CouplingSchemeEntry& scheme = monolithic());

  /// Finds a start that satisfies all constraints. Costs milliseconds: to be called before open(), which may cost
  /// minutes. @param start_time  [s] that it is the start at. @throws as mbs::assemble
  void assemble(const AssemblyLog& log, double start_time = 0.0);
  /// Opens the contact of all pairs; without pairs nobody is asked. @throws whatever the factory throws
  /// @param solves_impacts  whoever moves the bodies finds the impulses of rigid contacts
  void open(const ContactFactory& open_contact, std::span<const AssetContent> assets, const OpenContext& context,
            bool solves_impacts = false);
  /// Of a motion that is integrated. @throws Error{invalid_input} where a body vibrates about a clamp that moves with
  /// the body itself
  void check_fixed_supports() const;

  [[nodiscard]] System& system() { return system_; }
  [[nodiscard]] const System& system() const { return system_; }
  [[nodiscard]] ContactExchange& exchange() { return exchange_; }
  /// Of all pairs; what a pair in contact exerts is up to the scheme.
  [[nodiscard]] ContactStates& contact_states() { return contact_states_; }
  [[nodiscard]] CouplingScheme& scheme() { return *scheme_; }
  /// One of the system's forces.
  [[nodiscard]] const ForceElement& contact_force() const { return contact_force_; }
  /// Of the pairs whose bodies are rigid.
  [[nodiscard]] RigidContactSet& rigid_contacts() { return rigid_; }
  [[nodiscard]] const RigidContactSet& rigid_contacts() const { return rigid_; }
  /// Null without pairs and before open().
  [[nodiscard]] Contact* contact() { return contact_.get(); }
  /// The start that assemble() found.
  [[nodiscard]] const Start& start() const { return start_; }
  [[nodiscard]] CommittedState& committed() { return committed_; }
  /// What has been accumulated up to the committed state.
  [[nodiscard]] RunState& totals() { return totals_; }
  /// One per pair.
  [[nodiscard]] std::vector<EpisodeTracker>& trackers() { return trackers_; }
  [[nodiscard]] std::vector<std::string> pair_names() const;

  [[nodiscard]] MotionState state(double t, const VectorX& y) const { return system_.state(t, y); }
  [[nodiscard]] auto q(const VectorX& y) const { return y.head(system_.n_q()); }
  [[nodiscard]] auto qd(const VectorX& y) const { return y.segment(system_.n_q(), system_.n_q()); }

  /// How far rigid bodies may overlap in the scenario: they are moved apart, and it is said.
  struct Overlap {
    std::size_t pair = 0;
    double depth = 0.0;  ///< [m] > 0
  };
  /// Those of rigid pairs. @param responses  of the start
  /// @throws Error{invalid_input} where bodies lie so deep in each other that nobody can tell where they belong
  [[nodiscard]] std::vector<Overlap> overlaps(std::span<const Response> responses) const;
  /// Opens the episodes of pairs that touch in the first committed state, and measures its energy.
  /// @param responses  of the commit of step 0
  void begin(std::span<const Response> responses);
  /// [J] kinetic, potential and stored in contacts, of the committed state. @throws whatever the partner throws
  [[nodiscard]] double total_energy();
  /// Takes constraint residuals and kinetic energy of the committed state into the totals.
  void note_violation();

  /// The committed state, the history of the contact and totals() with the trackers, sealed. Nothing changes.
  /// @throws whatever the partner throws
  [[nodiscard]] Checkpoint save(const std::string& scenario_digest);
  /// Looks into a checkpoint without taking it.
  /// @throws Error{invalid_input} for one of another scenario, another program, and for damaged ones
  [[nodiscard]] RunState read(const Checkpoint& checkpoint, const std::string& scenario_digest) const;
  /// Goes to the state of a checkpoint. @param state  that read() found in it
  /// @throws what the partner throws when the history is not one of its pairs
  void restore_checked(const Checkpoint& checkpoint, RunState state);

  /// Columns of the time series that every analysis has.
  [[nodiscard]] std::vector<Column> columns() const;
  /// Those that follow: loads of the regions that the pairs tell apart, which are known once the contact is open.
  [[nodiscard]] std::vector<Column> region_columns() const;
  /// Their values at a state on the constraints, under the committed history; `row` is reused.
  /// @param own  values of the caller's own columns that stand before those of the regions
  /// @returns null, or what has been asked of the partner: with its answer complete_row() completes the row. That is so
  ///          while no pair acts and the gaps at the state are not known yet. @throws whatever the partner throws
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row,
                                                                std::span<const double> own = {});
  /// @throws what the partner refused the question for
  void complete_row(const PendingRequest& answered, std::vector<double>& row) const;
  /// Both, with a wait in between.
  void fill_row(double t, const VectorX& y, const VectorX& z, std::vector<double>& row);

 private:
  void check_no_rigid_pairs() const;
  void add_rigid_contact(const MotionState& at, std::vector<double>& row);

  const Scenario& scenario_;
  std::stop_token stop_;
  System system_;
  ContactExchange exchange_;
  ContactStates contact_states_;
  RigidContactSet rigid_;
  std::unique_ptr<CouplingScheme> scheme_;
  ContactForce& contact_force_;  ///< owned by system_, as the last of the model's forces
  std::unique_ptr<Contact> contact_;
  Start start_;
  double start_time_ = 0.0;  ///< [s]
  CommittedState committed_;
  RunState totals_;
  std::vector<EpisodeTracker> trackers_;
  std::vector<Response> unknown_;  ///< stands for the answers of pairs that exert nothing
};

}  // namespace heelstrike::mbs
