#include "mbs_server/elements/forces/coordinate_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {

ForceType coordinate_spring() {
  ForceType type;
  type.name = "coordinate_spring";
  type.meaning = "spring and damper on a coordinate of a custom joint: -k (u - neutral) - c du/dt";
  type.keys = {coordinate_key(), config::number("stiffness", "N m/rad or N/m", config::stiffnesses, "stiffness", 0),
               config::number("damping", "N m s/rad or N s/m", config::stiffnesses, "damping", 0),
               config::number("neutral", "rad or m", config::coordinates, "value without force", 0)};
  type.check = check_coordinate;
  type.build = [](const ElementSpec& spec, const Model& model) {
    const double k = spec.keys["stiffness"].number(), c = spec.keys["damping"].number();
    const double neutral = spec.keys["neutral"].number();
    return coordinate_force(spec, model, [k, c, neutral](double value, double rate) {
      const double x = value - neutral;
      return CoordinateLaw{
          .force = -k * x - c * rate, .by_value = -k, .by_rate = -c, .energy = 0.5 * k * x * x, .damping = -c * rate};
    });
  };
  return type;
}

}  // namespace heelstrike::mbs
