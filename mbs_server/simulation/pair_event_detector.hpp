/// Detects onset and separation of the pairs of a forward run in a step of the integrator, and steps that have missed
/// one.
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
#include <optional>
#include <span>
#include <vector>

#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

/// [m] Rounding error of a gap: a difference of coordinates and lengths of bodies after some dozens of operations.
/// @param q  [m, -] coordinates of all bodies
[[nodiscard]] double gap_rounding(const ConstVector& q);

/// [m/s] Likewise its rate. @param qd  [m/s, 1/s] rates of all coordinates
[[nodiscard]] double gap_rate_rounding(const ConstVector& qd);

class PairEventDetector {
 public:
  /// @param exchange, states  outlive this object
  PairEventDetector(ContactExchange& exchange, const ContactStates& states) : exchange_(exchange), states_(states) {}

  /// Must be called at restarts of the integration and after steps without pair checks: the responses at the accepted
  /// state are then evaluated on demand.
  void forget() { last_.clear(); }
  /// Called when a step has been accepted with these responses.
  void accept(double t, std::span<const Response> responses);

  struct PairEvents {
    std::optional<std::size_t> missed;      ///< a pair with a missed onset or separation inside the step
    double missed_penetration_depth = 0.0;  ///< [m] its penetration while open, or gap while closed
    std::vector<std::size_t> switching;     ///< pairs that close or open where the step ended
    bool slip_ends = false;                 ///< of a pair, where the step ended
  };
  /// Does not evaluate what the bounds of `scheme` exclude.
  /// @param t, q, qd    the last accepted state
  /// @param integrator  after step() returned `step`, which is not accepted yet
  /// @throws RecoverableError when the contact fails there
  [[nodiscard]] PairEvents detect_events(double t, const ConstVector& q, const ConstVector& qd, const StepResult& step,
                                         Integrator& integrator, const CouplingScheme& scheme);

 private:
  /// Rounding errors of a gap and its rate at a state.
  struct Rounding {
    double gap = 0.0;       ///< [m]
    double gap_rate = 0.0;  ///< [m/s]
  };
  [[nodiscard]] bool switches(std::size_t pair, const GapPoint& reached, bool at_root, const Rounding& rounding) const;
  /// [m] Undetected distance beyond zero, at the end of the step or within it: penetration of an open pair, gap of a
  /// closed one.
  [[nodiscard]] double missed_penetration(std::size_t pair, const GapPoint& reached, bool at_root, bool switching,
                                          Integrator& integrator);

  ContactExchange& exchange_;
  const ContactStates& states_;
  std::vector<GapPoint> last_;  ///< per pair at the last accepted state; empty = unknown
  Eigen::VectorXd y_, z_;
};

}  // namespace heelstrike::mbs
