/// Detects the events of a forward run in a step of the integrator, and steps that have missed one: onset and
/// separation of pairs, ends of sliding, opening and impacts of unilateral joints.
///
/// The end of sliding is also an event. Slip is measured from the last commit: beyond a reversal of the sliding
/// direction, the slip of a step would be evaluated with the friction force of the initial direction, which would drive
/// the bodies back to the start of the step.
///
/// Integrators find sign changes of a gap. They cannot detect one that starts at zero, or dips that begin and end
/// within a step. Therefore the pairs are checked before a step is accepted: an open pair in penetration, at the end or
/// within the step, has a missed onset, and the step must be repeated with a smaller one.
///
/// Zero is defined up to rounding. A closed pair with a small positive gap exerts no force, so it may remain closed
/// without an event: a pair closes as soon as its gap is zero to rounding, and opens only when its gap exceeds rounding
/// while the bodies separate. Otherwise grazing contacts would open and close indefinitely.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/simulation/coupled_model.hpp"

namespace heelstrike::mbs {

/// Events at the end of a step.
struct StepEvents {
  std::vector<std::size_t> switching;  ///< pairs that close or open
  bool slip_ends = false;              ///< of a pair
  std::vector<std::size_t> joints;     ///< unilateral joints that open or have an impact
  std::string missed;                  ///< reason to repeat the step with a smaller size: a missed event; empty = none
  [[nodiscard]] bool any() const { return !switching.empty() || slip_ends || !joints.empty(); }
};

class EventDetector {
 public:
  /// @param model, problem   of the run; outlive this object
  /// @param locates_contact  pairs close and open at roots within steps; otherwise only joints are checked
  EventDetector(CoupledModel& model, RunProblem& problem, bool locates_contact)
      : model_(model), problem_(problem), locates_contact_(locates_contact) {}

  /// Must be called at restarts of the integration and after steps without pair checks: the responses at the accepted
  /// state are then evaluated on demand.
  void forget() { last_.clear(); }
  /// Called when a step has been accepted with these responses.
  void accept(double t, std::span<const Response> responses);

  /// Events of a step from the committed state. Does not evaluate what the bounds of the coupling scheme exclude.
  /// @param integrator  after step() returned `step`, which is not accepted yet
  /// @throws RecoverableError when the contact fails there
  [[nodiscard]] StepEvents detect(const StepResult& step, Integrator& integrator);

 private:
  /// Rounding errors of a gap and its rate at a state.
  struct Rounding {
    double gap = 0.0;       ///< [m]
    double gap_rate = 0.0;  ///< [m/s]
  };
  void detect_pair_events(const StepResult& step, Integrator& integrator, StepEvents& events);
  void detect_joint_events(const StepResult& step, const Integrator& integrator, StepEvents& events);
  [[nodiscard]] bool switches(std::size_t pair, const GapPoint& reached, bool at_root, const Rounding& rounding) const;
  /// [m] Undetected distance beyond zero, at the end of the step or within it: penetration of an open pair, gap of a
  /// closed one.
  [[nodiscard]] double missed_penetration(std::size_t pair, const GapPoint& reached, bool at_root, bool switching,
                                          Integrator& integrator);

  CoupledModel& model_;
  RunProblem& problem_;
  bool locates_contact_;
  std::vector<GapPoint> last_;  ///< per pair at the last accepted state; empty = unknown
  VectorX y_, z_;
};

}  // namespace heelstrike::mbs
