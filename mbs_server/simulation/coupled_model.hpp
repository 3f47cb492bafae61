/// A model with its contact partner and the last state that was committed: what a Simulation steps, and what analyses
/// of prescribed motion and of equilibrium put into one state after the other.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "common/config/scenario.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_coupling.hpp"
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
  CoupledModel(const Scenario& scenario, const Model& model, std::stop_token stop);

  /// Finds a start that satisfies all constraints. Costs milliseconds: to be called before open(), which may cost
  /// minutes. @throws as mbs::assemble
  void assemble(const AssemblyLog& log);
  /// Opens the contact of all pairs; without pairs nobody is asked. @throws whatever the factory throws
  void open(const ContactFactory& open_contact, std::span<const AssetContent> assets, const OpenContext& context);

  [[nodiscard]] System& system() { return system_; }
  [[nodiscard]] const System& system() const { return system_; }
  [[nodiscard]] ContactCoupling& coupling() { return coupling_; }
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

  /// Opens the episodes of pairs that touch in the first committed state, and measures its energy.
  /// @param responses  of the commit of step 0
  void begin(std::span<const Response> responses);
  /// [J] kinetic, potential and stored in contacts, of the committed state. @throws whatever the partner throws
  [[nodiscard]] double total_energy();
  /// Takes the constraint residuals of the committed state into the totals.
  void note_violation();

  /// Columns of the time series that every analysis has.
  [[nodiscard]] std::vector<Column> columns() const;
  /// Their values at a state on the constraints, under the committed history; `row` is reused.
  /// @throws whatever the partner throws
  void fill_row(double t, const VectorX& y, const VectorX& z, std::vector<double>& row);

 private:
  const Scenario& scenario_;
  std::stop_token stop_;
  System system_;
  ContactCoupling& coupling_;  ///< owned by system_
  std::unique_ptr<Contact> contact_;
  Start start_;
  CommittedState committed_;
  RunState totals_;
  std::vector<EpisodeTracker> trackers_;
};

}  // namespace heelstrike::mbs
