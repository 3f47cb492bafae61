/// Which pairs of a forward run begin or end their contact in a step of the integrator, and whether the step has passed
/// over a touch or a separation.
///
/// A slide that comes to its end is such an event too. Friction that sticks measures slip from the last commit: beyond
/// the place where the bodies turn back it would take the whole way there and back for slip, with the force of the way
/// there, and drive them on until they are back where the step began.
///
/// Integrators find changes of sign of a gap. They cannot see one that starts at zero, and dips that begin and end
/// within a step. So no step is accepted before the pairs have been looked at: an open pair in penetration, at the end
/// or in between, has missed its touch, and the step must be repeated with a smaller one.
///
/// What is zero is a matter of rounding. A closed pair whose bodies are just apart exerts no force, so staying closed
/// costs nothing and needs no event: a pair closes as soon as its gap is zero to rounding, and opens only when its gap
/// has grown beyond rounding, while the bodies separate. Otherwise bodies that only touch would open and close for
/// ever.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/coupling/gap_course.hpp"
#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

/// [m] What a gap is known to: a difference of coordinates and lengths of bodies after some dozens of operations.
/// @param q  [m, -] coordinates of all bodies
[[nodiscard]] double gap_rounding(const ConstVector& q);

/// [m/s] Likewise its rate. @param qd  [m/s, 1/s] rates of all coordinates
[[nodiscard]] double gap_rate_rounding(const ConstVector& qd);

class PairEventDetector {
 public:
  /// @param exchange, states  outlive this object
  PairEventDetector(ContactExchange& exchange, const ContactStates& states) : exchange_(exchange), states_(states) {}

  /// At restarts of the integration, and after steps on which no pair was looked at: the responses at the accepted
  /// state are asked for when they are needed.
  void forget() { last_.clear(); }
  /// A step has been accepted with these responses.
  void accept(double t, std::span<const Response> responses);

  struct PairEvents {
    std::optional<std::size_t> missed;   ///< a pair that touched or separated inside the step, unseen
    double missed_penetration_depth = 0.0;        ///< [m] that it was in penetration while open, or apart while closed
    std::vector<std::size_t> switching;  ///< pairs that close or open where the step ended
    bool slip_ends = false;             ///< of a pair, where the step ended
  };
  /// What `scheme` is certain of is not asked.
  /// @param t, q, qd    the last accepted state
  /// @param integrator  after step() returned `step`, which is not accepted yet
  /// @throws RecoverableError when the contact cannot answer there
  [[nodiscard]] PairEvents detect_events(double t, const ConstVector& q, const ConstVector& qd, const StepResult& step,
                              Integrator& integrator, const CouplingScheme& scheme);

 private:
  /// What a gap and its rate are known to at a state.
  struct Rounding {
    double gap = 0.0;       ///< [m]
    double gap_rate = 0.0;  ///< [m/s]
  };
  [[nodiscard]] bool switches(std::size_t pair, const GapPoint& reached, bool at_root, const Rounding& rounding) const;
  /// [m] How far the pair has been beyond zero without being noticed, at the end of the step or in between: in
  /// penetration while it is open, apart while it is closed.
  [[nodiscard]] double missed_penetration(std::size_t pair, const GapPoint& reached, bool at_root, bool switching,
                                 Integrator& integrator);

  ContactExchange& exchange_;
  const ContactStates& states_;
  std::vector<GapPoint> last_;  ///< per pair at the last accepted state; empty = not known
  Eigen::VectorXd y_, z_;
};

}  // namespace heelstrike::mbs
