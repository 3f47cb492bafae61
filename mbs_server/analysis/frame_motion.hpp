/// Drivers of single coordinates whose values an analysis sets in every frame, and the directions in which they move
/// the bodies.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// The motion of a coordinate within a frame: that of a function, or a value with its rate set by the analysis.
class FrameMotion final : public TimeFunction {
 public:
  /// @param recorded  null = set() defines the motion
  explicit FrameMotion(TimeFunctionPtr recorded) : recorded_(std::move(recorded)) {}

  [[nodiscard]] Jet at(double t) const override {
    Jet motion = recorded_ ? recorded_->at(t) : set_;
    if (held_) motion.d = motion.dd = 0.0;
    return probed_ ? Jet{.f = motion.f, .d = rate_, .dd = 0.0} : motion;
  }
  [[nodiscard]] double last_time() const override {
    return recorded_ ? recorded_->last_time() : TimeFunction::last_time();
  }
  [[nodiscard]] double first_time() const override {
    return recorded_ ? recorded_->first_time() : TimeFunction::first_time();
  }
  void set(const Jet& motion) { set_ = motion; }
  /// Replaces the rate until release(): the direction in which the coordinate moves the bodies follows from it.
  void probe(double rate) {
    probed_ = true;
    rate_ = rate;
  }
  void release() { probed_ = false; }
  /// Holds the recorded motion at rest at its value, or lets it move again.
  void hold(bool held) { held_ = held; }

 private:
  TimeFunctionPtr recorded_;
  Jet set_;
  bool held_ = false;
  bool probed_ = false;
  double rate_ = 0.0;
};

/// Drives the coordinate `name` of a joint. @pre the model has it
[[nodiscard]] Driver coordinate_driver(const Model& model, const std::string& name, TimeFunctionPtr motion);

/// Columns k: the velocity nu_k that a unit rate of coordinate k prescribes, and J_k = dq/du_k of the constrained
/// motion, Phi_q J_k = nu_k.
struct CoordinateDirections {
  Eigen::MatrixXd nu, J;
};

/// @param motions  of the coordinates, which the drivers of the system follow; rates set before are ignored
void find_directions(System& system, double t, const ConstVector& q,
                     const std::vector<std::shared_ptr<FrameMotion>>& motions, CoordinateDirections& out);

}  // namespace heelstrike::mbs
