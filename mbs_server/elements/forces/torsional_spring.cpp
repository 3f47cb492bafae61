#include <utility>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/formulation/joint_angle.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

struct TorsionalElement {
  std::string name;
  double stiffness = 0.0;  ///< [N m/rad]
  double damping = 0.0;    ///< [N m s/rad]
  double neutral = 0.0;    ///< [rad] angle without torque
};

/// Torsional spring-damper about the axis of a revolute or cylindrical joint: torque -(k (phi - phi0) + c dphi/dt) on
/// side b. The angle is measured from the initial pose and counts full turns, as does phi0.
class TorsionalSpring final : public ForceElement {
 public:
  TorsionalSpring(TorsionalElement element, const Joint& joint) : element_(std::move(element)), angle_(joint) {}
  [[nodiscard]] std::string name() const override { return element_.name; }

  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    const auto d = angle_.derivatives(at.q);
    const double x = d.angle - element_.neutral;
    const double speed = d.gradient.dot(angle_.local(at.qd));
    const double torque = element_.stiffness * x + element_.damping * speed;
    // g = -T phi_q: virtual work -T dphi. It is the gradient of the energy also off the constraints, where the axes of
    // the two bodies differ.
    g(angle_.indices()) -= torque * d.gradient;
    energy.potential += 0.5 * element_.stiffness * x * x;
    energy.dissipated_power += element_.damping * speed * speed;
  }

  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    const auto d = angle_.derivatives(at.q);
    const VectorX v = angle_.local(at.qd);
    const double torque = element_.stiffness * (d.angle - element_.neutral) + element_.damping * d.gradient.dot(v);
    // T_q = k phi_q + c (phi_q qd)_q.
    const VectorX by_q = element_.stiffness * d.gradient + element_.damping * d.hessian * v;
    K.add_dense(angle_.indices(), -d.gradient * by_q.transpose() - torque * d.hessian);
    C.add_dense(angle_.indices(), -element_.damping * d.gradient * d.gradient.transpose());
  }

  [[nodiscard]] std::vector<Column> columns() const override {
    const std::string& name = element_.name;
    return {{name + ".angle_rad", "rad", "angle of the joint, 0 at the initial poses, with full turns"},
            {name + ".rate_rad_s", "rad/s", "rate of the angle"},
            {name + ".torque_Nm", "N m", "torque of spring and damper on the joint's second body, about the axis"}};
  }

  void append_values(const MotionState& at, std::vector<double>& row) const override {
    const auto d = angle_.derivatives(at.q);
    const double speed = d.gradient.dot(angle_.local(at.qd));
    const double torque = element_.stiffness * (d.angle - element_.neutral) + element_.damping * speed;
    row.insert(row.end(), {d.angle, speed, -torque});
  }

  [[nodiscard]] TurnReference* turn_reference() override { return &angle_; }

 private:
  TorsionalElement element_;
  CountedAngle angle_;
};

}  // namespace

ForceType torsional_spring() {
  ForceType type;
  type.name = "torsional_spring";
  type.meaning = "spring and damper about the axis of a joint";
  type.keys = {config::required(config::text("joint", "a joint with an angle")),
               config::required(config::number("stiffness", "N m/rad", config::stiffnesses, "slope of the torque")),
               config::number("damping", "N m s/rad", config::stiffnesses, "damping", 0),
               config::number("neutral", "rad", config::angles, "angle without torque, with full turns", 0)};
  type.check = [](const config::Field& field, const Scenario& scenario) {
    (void)read_joint_name(
        field["joint"], scenario, [](const JointCoordinates& c) { return c.angle; }, "an angle");
  };
  type.build = [](const ElementSpec& spec, const Model& model) {
    const TorsionalElement element{.name = spec.name,
                                   .stiffness = spec.keys["stiffness"].number(),
                                   .damping = spec.keys["damping"].number(),
                                   .neutral = spec.keys["neutral"].number()};
    return Force{.name = spec.name, .make = [element, joint = find_joint(model, spec.keys["joint"].text())] {
                   return std::make_unique<TorsionalSpring>(element, joint);
                 }};
  };
  return type;
}

}  // namespace heelstrike::mbs
