#include "mbs_server/elements/forces/line_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {

Tension toe_ligament_tension(double k, double toe_strain, double unstrained, double length,
                             std::optional<double> toe_stiffness) {
  const double x = length - unstrained;
  if (x <= 0.0) return {};
  // Equation (4) of docs/theory/multibody.md in the elongation x = l - l0, with toe = l0 eps1: at x = 2 toe both pieces
  // have the force k toe and the slope k, unless the toe was measured separately.
  const double toe = toe_strain * unstrained;
  const double a = toe_stiffness.value_or(k / (4.0 * toe));
  if (x <= 2.0 * toe) return {.force = a * x * x, .stiffness = 2.0 * a * x, .energy = a * x * x * x / 3.0};
  const double y = x - toe;
  // Energy of the toe, and of the line from y = toe on.
  return {.force = k * y, .stiffness = k, .energy = 8.0 / 3.0 * a * toe * toe * toe + 0.5 * k * (y * y - toe * toe)};
}

ForceType ligament_toe() {
  ForceType type;
  type.name = "ligament_toe";
  type.meaning = "ligament with a quadratic toe and a linear part";
  type.keys = ligament_keys(config::number("stiffness", "N/m", config::stiffnesses, "slope of the linear part"));
  type.keys.push_back(
      config::number("toe_strain", "-", config::strains, "half the strain at which the linear part begins", 0.03));
  type.keys.push_back(config::number("toe_stiffness", "N/m^2", config::stiffnesses,
                                     "of the toe, F = toe_stiffness (l - l0)^2, if measured separately (the "
                                     "force then jumps where the linear part begins); default: continuous force"));
  type.check = check_ligament_ends;
  type.build = [](const ElementSpec& spec, const Model& model) {
    LineElement element = read_line(spec, model);
    element.tension_only = true;
    element.tension = [k = spec.keys["stiffness"].number(), toe = spec.keys["toe_strain"].number(),
                       l0 = element.unstrained, own = spec.keys.optional_number("toe_stiffness")](
                          const LineMotion& at, const ConstVector& /*s*/) {
      return toe_ligament_tension(k, toe, l0, at.length, own);
    };
    return line_force(std::move(element));
  };
  return type;
}

}  // namespace heelstrike::mbs
