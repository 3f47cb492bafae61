/// A step of a forward run between its end and its commit, and the commits: the history of the contact advances, pairs
/// close and open, and episodes are updated.
#pragma once

#include <optional>
#include <vector>

#include "mbs_server/simulation/event_detector.hpp"
#include "mbs_server/simulation/run_diagnostics.hpp"
#include "mbs_server/simulation/run_integrator.hpp"
#include "mbs_server/simulation/simulation_listener.hpp"
#include "mbs_server/simulation/singular_crossing.hpp"

namespace heelstrike::mbs {

/// A step of the integrator, or an extrapolation across a singular pose, before its commit: under the contact history
/// that was valid during the step.
class SimulationStep {
 public:
  /// Objects of the run, which outlive its steps.
  struct Run {
    CoupledModel& model;
    RunProblem& problem;
    /// Contact is not located as roots: pairs close and open at the ends of steps.
    bool contact_at_step_ends;
  };
  /// @param method  that has finished the step
  SimulationStep(const Run& run, const StepResult& step, Integrator& method, StepEvents events);
  SimulationStep(const Run& run, SingularCrossing::Crossing crossing);

  [[nodiscard]] double start() const { return run_.model.committed().t; }  ///< [s] the last committed time
  [[nodiscard]] double end() const { return end_; }                        ///< [s]
  [[nodiscard]] double step_size() const { return step_size_; }            ///< [s] of the integrator; 0 = extrapolated
  /// True if a contact begins or ends at the end of the step.
  [[nodiscard]] bool is_event() const { return events_.any(); }
  [[nodiscard]] bool is_crossing() const { return crossing_.has_value(); }
  [[nodiscard]] const StepEvents& events() const { return events_; }
  /// True if no pair becomes active or inactive.
  [[nodiscard]] bool can_defer_commit() const { return !run_.contact_at_step_ends && !is_event() && !is_crossing(); }
  /// Contact continues; SimulationListener::on_commit_response() follows, unless the step is rolled back.
  [[nodiscard]] bool commit_is_deferred() const {
    return can_defer_commit() && run_.model.contact_states().any_closed();
  }
  /// {q, qd, s} and quadratures at the end from the integrator: on the constraints to its accuracy.
  [[nodiscard]] const VectorX& end_y() const { return y_; }
  [[nodiscard]] const VectorX& end_z() const { return z_; }
  /// {q, qd, s} on the constraints, and quadratures, at any time of (start, end].
  void state_at(double t, VectorX& y, VectorX& z);

  /// Ends the step at `t`, inside it.
  void cut(double t);
  /// Projects the end onto the constraints. @returns y, which the caller may move from
  [[nodiscard]] VectorX& projected_end();

 private:
  [[nodiscard]] VectorX add_crossing_work() const;
  [[nodiscard]] double fraction(double t) const { return (t - start()) / (end_ - start()); }

  Run run_;
  Integrator* method_ = nullptr;  ///< null for a crossing
  double end_;
  double step_size_;
  VectorX y_, z_;  ///< at the end
  StepEvents events_;
  std::optional<SingularCrossing::Crossing> crossing_;
};

/// Commits steps. The commit of a step in which no pair becomes active or inactive is posted: it is sent with the next
/// request, and the response is read on arrival, by finish(). Until then the state before it is kept, to which a
/// rejected commit returns.
class StepCommitter {
 public:
  /// @param detector, diagnostics  of the same run; outlive this object, as the others
  StepCommitter(const SimulationStep::Run& run, EventDetector& detector, RunDiagnostics& diagnostics)
      : run_(run), model_(run.model), detector_(detector), diagnostics_(diagnostics) {}

  /// @param listener  outlives this object, or the next call of listen()
  void listen(SimulationListener& listener) { listener_ = &listener; }
  [[nodiscard]] const SimulationStep::Run& run() const { return run_; }

  /// Makes the end of the step the committed state.
  /// @param exchanges  false inside a macro step: the partner is not evaluated, contact is known at exchanges only
  /// @throws RejectedCommit of an earlier posted commit, exceptions of the partner
  void commit(SimulationStep& step, bool exchanges);
  /// Reads the responses of a posted commit, before any dependent action; does nothing without one.
  /// @throws RejectedCommit when roll_back() must follow, exceptions of the partner
  void finish();
  /// Returns to the state before the rejected commit. @returns [s] the rejected time
  /// @throws RejectedCommit when no commit is posted
  double roll_back(const RejectedCommit& rejection);
  /// Forgets a posted commit.
  void forget() { posted_.reset(); }
  /// Adds the energies of a resolved event of unilateral joints to the committed state.
  void add(const UnilateralJoints::Event& event);
  /// Number of events: pairs that have closed or opened, and events of unilateral joints.
  [[nodiscard]] std::int64_t n_events() const { return n_events_; }

 private:
  double replace_committed_state(const SimulationStep& step, VectorX& y);
  void post(SimulationStep& step, VectorX& y);
  void store_responses(double t_before, const VectorX& y_before, std::span<const Response> responses);
  void switch_pairs(std::span<const std::size_t> pairs, std::span<const Response> responses);
  [[nodiscard]] std::vector<std::size_t> switched_pairs(std::span<const Response> responses) const;

  SimulationStep::Run run_;
  CoupledModel& model_;
  EventDetector& detector_;
  RunDiagnostics& diagnostics_;
  SimulationListener* listener_ = nullptr;
  /// The state before the last commit.
  struct PrecedingState {
    CommittedState state;
    VectorX turn_references;
  };
  std::optional<PrecedingState> posted_;  ///< while the response to the last commit is unread
  std::int64_t n_events_ = 0;
};

}  // namespace heelstrike::mbs
