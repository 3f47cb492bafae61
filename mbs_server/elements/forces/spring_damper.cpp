#include "mbs_server/elements/forces/line_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {

ForceType spring_damper() {
  ForceType type;
  type.name = "spring_damper";
  type.meaning = "linear spring and damper between two points";
  type.keys = line_keys(config::number("stiffness", "N/m", config::stiffnesses, "slope of the force"));
  type.build = [](const ElementSpec& spec, const Model& model) {
    LineElement element = read_line(spec, model);
    element.tension = [k = spec.keys["stiffness"].number(), l0 = element.unstrained](const LineMotion& at,
                                                                                     const ConstVector& /*s*/) {
      const double x = at.length - l0;
      return Tension{.force = k * x, .stiffness = k, .energy = 0.5 * k * x * x};
    };
    return line_force(std::move(element));
  };
  return type;
}

}  // namespace heelstrike::mbs
