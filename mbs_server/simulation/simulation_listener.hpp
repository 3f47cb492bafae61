/// Listener interface for the events inside Simulation::advance_to().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// An event at one instant.
struct SimulationEvent {
  enum class Kind {
    onset,                 ///< onset of contact of a pair, which is already closed
    peak,                  ///< the force of a pair had a peak one step ago, at `t`
    separation,            ///< separation of a pair, which is already open
    rejected_step,         ///< the step to `t` is repeated with a smaller size from the last commit; see `reason`
    singularity_crossing,  ///< the motion is continued across a singular pose by extrapolation; `reason` contains the
                           ///< interval
  };
  Kind kind = Kind::onset;
  double t = 0.0;                           ///< [s]
  std::optional<std::size_t> pair = {};     ///< index in Model::pairs
  const VectorX* y = nullptr;               ///< {q, qd} at `t` of onset, peak and separation
  const ContactEpisode* episode = nullptr;  ///< of a separation: the complete contact
  std::string reason = {};
};

class SimulationStep;

/// All methods are called from the thread that advances the simulation. Their exceptions end the advance.
class SimulationListener {
 public:
  virtual ~SimulationListener() = default;
  /// A level ("info", "warning") and a message.
  virtual void on_log(std::string_view /*level*/, std::string_view /*text*/) {}
  /// Progress of the contact preparation: a stage, and its completed fraction, 0 to 1.
  virtual void on_preparation(std::string_view /*stage*/, double /*fraction*/) {}
  /// The contact is open; the initial state follows.
  virtual void on_opened() {}
  /// A step has been found. @returns false to leave it uncommitted: advance_to() then returns false at once
  virtual bool on_step(SimulationStep& /*step*/) { return true; }
  /// After every event of a step, in the order of the pairs.
  virtual void on_event(const SimulationEvent& /*event*/) {}
  /// The response to the commit of a step with continued contact has arrived, possibly during the search for the next
  /// step, and is now available at no cost. A rejected commit is rolled back without a call.
  virtual void on_commit_response() {}
  /// A step of the integrator has been committed; Simulation::save() may be called here.
  virtual void on_commit() {}
  /// The integrator has been restarted, as in every run of this scenario: after an event, and after many steps without
  /// one. Simulation::save() has no effect on the run here, so that saving may depend on wall time.
  virtual void on_restart_point() {}
};

}  // namespace heelstrike::mbs
