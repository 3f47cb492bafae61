#include "mbs_server/elements/forces/line_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {

Tension quadratic_ligament_tension(double k, double unstrained, double length) {
  const double x = length - unstrained;
  if (x <= 0.0) return {};
  // The tension k (x / l0)^2; stiffness and energy are its derivative and integral. Tension and stiffness vanish at the
  // slack length, so that the force is once continuously differentiable there.
  const double a = k / (unstrained * unstrained);
  return {.force = a * x * x, .stiffness = 2.0 * a * x, .energy = a * x * x * x / 3.0};
}

ForceType ligament_quadratic() {
  ForceType type;
  type.name = "ligament_quadratic";
  type.meaning = "ligament whose tension grows with the square of its strain";
  type.keys =
      ligament_keys(config::number("stiffness", "N", config::stiffnesses, "force at strain 1, F = stiffness strain^2"));
  type.check = check_ligament_ends;
  type.build = [](const ElementSpec& spec, const Model& model) {
    LineElement element = read_line(spec, model);
    element.tension_only = true;
    element.tension = [k = spec.keys["stiffness"].number(), l0 = element.unstrained](const LineMotion& at,
                                                                                     const ConstVector& /*s*/) {
      return quadratic_ligament_tension(k, l0, at.length);
    };
    return line_force(std::move(element));
  };
  return type;
}

}  // namespace heelstrike::mbs
