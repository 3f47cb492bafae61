/// Who wants to know what happens inside Simulation::advance_to().
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// What happened at one instant.
struct SimulationEvent {
  enum class Kind {
    onset,             ///< a pair begins to touch; it counts as closed already
    peak,              ///< the force of a pair was largest one step ago, at `t`
    separation,        ///< a pair ends its contact; it counts as open already
    rejected_step,     ///< the step to `t` is repeated with a smaller one from the last commit; see `reason`
    singularity_crossing,  ///< the motion is continued across a singular pose by extrapolation; `reason` tells from where
  };
  Kind kind = Kind::onset;
  double t = 0.0;                           ///< [s]
  std::optional<std::size_t> pair = {};     ///< index in Model::pairs
  const VectorX* y = nullptr;               ///< {q, qd} at `t` of onset, peak and separation
  const ContactEpisode* episode = nullptr;  ///< of a separation: the whole of the contact
  std::string reason = {};
};

/// A step that is about to be committed. Whoever looks sees the history that was in force during the step.
class SimulationStep {
 public:
  virtual ~SimulationStep() = default;
  [[nodiscard]] virtual double start() const = 0;      ///< [s] the last committed time
  [[nodiscard]] virtual double end() const = 0;        ///< [s]
  [[nodiscard]] virtual double step_size() const = 0;  ///< [s] of the integrator; 0 = extrapolated
  /// A contact begins or ends where the step ends.
  [[nodiscard]] virtual bool is_event() const = 0;
  /// Contact goes on; SimulationListener::on_commit_response() follows, unless the step is taken back.
  [[nodiscard]] virtual bool commit_is_deferred() const = 0;
  /// {q, qd, s} and quadratures at the end, as the integrator left them: on the constraints to its accuracy.
  [[nodiscard]] virtual const VectorX& end_y() const = 0;
  [[nodiscard]] virtual const VectorX& end_z() const = 0;
  /// {q, qd, s} on the constraints, and quadratures, at any time of (start, end].
  virtual void state_at(double t, VectorX& y, VectorX& z) = 0;
};

/// All methods are called from the thread that advances the simulation. Whatever they throw ends the advance.
class SimulationListener {
 public:
  virtual ~SimulationListener() = default;
  /// A level ("info", "warning") and a sentence.
  virtual void on_log(std::string_view /*level*/, std::string_view /*text*/) {}
  /// The contact is being prepared: a stage, and how much of it is done, 0 to 1.
  virtual void on_preparation(std::string_view /*stage*/, double /*fraction*/) {}
  /// The contact is there; the initial state is taken next.
  virtual void on_opened() {}
  /// A step has been found. @returns false to leave it uncommitted: advance_to() then returns false at once
  virtual bool on_step(SimulationStep& /*step*/) { return true; }
  /// After every event of a step, in the order of the pairs.
  virtual void on_event(const SimulationEvent& /*event*/) {}
  /// The partner has answered the commit of a step in which contact went on, maybe while the next one is looked for.
  /// What it says can be had for nothing now. A commit that is refused is taken back without a word.
  virtual void on_commit_response() {}
  /// A step of the integrator has been committed; Simulation::save() may be called here.
  virtual void on_commit() {}
  /// The integrator has been started anew, as it is in every run of this scenario: behind an event, and after many
  /// steps without one. Simulation::save() changes nothing here, so that who saves may ask a clock.
  virtual void on_restart_point() {}
};

}  // namespace heelstrike::mbs
