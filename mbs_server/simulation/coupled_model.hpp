/// A model with its contact partner and the last committed state. A Simulation steps it; analyses of prescribed motion
/// and of equilibrium set its states.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_force.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/formulation/assembly.hpp"
#include "mbs_server/formulation/system.hpp"
#include "mbs_server/simulation/episode_tracker.hpp"
#include "mbs_server/simulation/run_problem.hpp"
#include "mbs_server/simulation/run_state.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// The last committed state.
struct CommittedState {
  double t = 0.0;  ///< [s]
  VectorX y;       ///< {q, qd, s}, see System; empty = no commit yet
  VectorX z;       ///< quadratures, see EnergyQuadrature
};

class CoupledModel {
 public:
  /// Builds the equations of motion, without the contact.
  /// @param scenario  outlives this object
  /// @param scheme    for integrated motion; with prescribed states the partner is evaluated at each of them
  CoupledModel(const Scenario& scenario, const Model& model, std::stop_token stop,
               const CouplingSchemeEntry& scheme = monolithic());

  /// Finds an initial state that satisfies all constraints. Takes milliseconds: call it before open(), which may take
  /// minutes. @param start_time  [s] of the initial state. @throws as mbs::assemble
  void assemble(const AssemblyLog& log, double start_time = 0.0);
  /// Opens the contact of all pairs; does nothing without pairs. @throws exceptions of the factory
  /// @param solves_impacts  the integrator computes the impulses of rigid contacts
  void open(const ContactFactory& open_contact, std::span<const AssetContent> assets, const OpenContext& context,
            bool solves_impacts = false);
  /// For integrated motion. @throws Error{invalid_input} if a body vibrates about a clamp that moves with the body
  void check_fixed_supports() const;

  [[nodiscard]] System& system() { return system_; }
  [[nodiscard]] const System& system() const { return system_; }
  [[nodiscard]] ContactExchange& exchange() { return exchange_; }
  /// Of all pairs; the scheme determines the force of a pair in contact.
  [[nodiscard]] ContactStates& contact_states() { return contact_states_; }
  [[nodiscard]] CouplingScheme& scheme() { return *scheme_; }
  /// One of the system's forces.
  [[nodiscard]] const ForceElement& contact_force() const { return contact_force_; }
  /// Of the pairs whose bodies are rigid.
  [[nodiscard]] RigidContactSet& rigid_contacts() { return rigid_; }
  [[nodiscard]] const RigidContactSet& rigid_contacts() const { return rigid_; }
  /// Null without pairs and before open().
  [[nodiscard]] Contact* contact() { return contact_.get(); }
  /// The initial state found by assemble().
  [[nodiscard]] const Start& start() const { return start_; }
  [[nodiscard]] CommittedState& committed() { return committed_; }
  /// Totals up to the committed state.
  [[nodiscard]] RunState& totals() { return totals_; }
  /// One per pair.
  [[nodiscard]] std::vector<EpisodeTracker>& trackers() { return trackers_; }
  [[nodiscard]] std::vector<std::string> pair_names() const;
  /// As opened; empty before.
  [[nodiscard]] std::span<const PairDescription> pairs() const {
    return contact_ ? contact_->pairs() : std::span<const PairDescription>{};
  }

  [[nodiscard]] MotionState state(double t, const VectorX& y) const { return system_.state(t, y); }
  [[nodiscard]] auto q(const VectorX& y) const { return y.head(system_.n_q()); }
  [[nodiscard]] auto qd(const VectorX& y) const { return y.segment(system_.n_q(), system_.n_q()); }

  /// An admissible overlap of rigid bodies in the scenario, which is removed and reported.
  struct Overlap {
    std::size_t pair = 0;
    double depth = 0.0;  ///< [m] > 0
  };
  /// Those of rigid pairs. @param responses  of the start
  /// @throws Error{invalid_input} for overlaps too deep for a unique separation
  [[nodiscard]] std::vector<Overlap> overlaps(std::span<const Response> responses) const;
  /// Moves rigid bodies apart that overlap in the committed state: without this, the first step would separate bodies
  /// that overlap by rounded decimals, as if by a force. Overlaps beyond rounding are reported.
  /// @throws Error{invalid_input} for bodies that cannot be moved apart, and as overlaps()
  void separate_rigid_bodies(Problem& problem, const AssemblyLog& log);
  /// Opens the episodes of pairs in contact in the first committed state, and computes its energy.
  /// @param responses  of the commit of step 0
  void begin(std::span<const Response> responses);
  /// [J] kinetic, potential and contact energy of the committed state. @throws exceptions of the partner
  [[nodiscard]] double total_energy();
  /// Updates the totals with constraint residuals and kinetic energy of the committed state.
  void note_violation();

  /// Checkpoint of the committed state, the history of the contact and totals() with the trackers, with a checksum.
  /// @throws exceptions of the partner
  [[nodiscard]] Checkpoint save(const std::string& scenario_digest);
  /// Verifies and reads a checkpoint without restoring it.
  /// @throws Error{invalid_input} for a checkpoint of another scenario or program, or a damaged one
  [[nodiscard]] RunState read(const Checkpoint& checkpoint, const std::string& scenario_digest) const;
  /// Restores the state of a checkpoint. @param state  from read()
  /// @throws exceptions of the partner when the history does not belong to its pairs
  void restore_checked(const Checkpoint& checkpoint, RunState state);

  /// Columns of the time series common to all analyses.
  [[nodiscard]] std::vector<Column> columns() const;
  /// The following columns: loads of the regions of the pairs, available once the contact is open.
  [[nodiscard]] std::vector<Column> region_columns() const;
  /// Values at a state on the constraints, under the committed history; `row` is reused.
  /// @param own  values of additional columns of the caller, before those of the regions
  /// @returns null, or a pending request to the partner, with whose response complete_row() completes the row: when no
  ///          pair acts and the gaps at the state are not yet known. @throws exceptions of the partner
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row,
                                                                std::span<const double> own = {});
  /// @throws the error of the request
  void complete_row(const PendingRequest& completed, std::vector<double>& row) const;
  /// begin_row() and complete_row(), waiting for the response.
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
  std::vector<Response> unknown_;  ///< placeholder for responses of pairs without force
};

/// Check of every accepted state, independent of analysis and integrator: all numbers are finite.
/// @param y  {q, qd, s};  @param z  quadratures
/// @throws Error{solver_failed} with the time and the first body or force element that is not finite
void require_numbers(const System& system, double t, const VectorX& y, const VectorX& z);

/// Checks for vibrating bodies that an analysis does not support, from descriptions of pairs, which may be predicted
/// before the pairs are opened. @{
/// For equilibria, in which vibrations do not decay. @throws Error{invalid_input} with the pair
void check_no_vibrating_pairs(std::span<const PairDescription> pairs);
/// For integrated motion. @param pairs  one for each pair of the scenario
/// @throws Error{invalid_input} if a body vibrates about a clamp that moves with the body
void check_fixed_supports(const Scenario& scenario, std::span<const PairDescription> pairs);
/// @}

/// Builds and assembles the model of a scenario as a run does, without its contact, to describe it.
/// @throws Error{invalid_input} as build_model() and assemble()
[[nodiscard]] ModelDescription describe_model(const Scenario& scenario, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
