#include <fmt/format.h>
#include <algorithm>

#include "mbs_server/elements/forces/coordinate_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

/// k S(x / w) x beyond a limit, x > 0, with the smooth step S(s) = 10 s^3 - 15 s^4 + 6 s^5 over the width w: the stop
/// of OpenSim's CoordinateLimitForce.
struct Stop {
  double force = 0.0, slope = 0.0, energy = 0.0;
  double engaged = 0.0, engaged_slope = 0.0;  ///< S and dS/dx
};

Stop stop_at(double x, double stiffness, double width) {
  if (x <= 0.0) return {};
  const double s = std::min(x / width, 1.0);
  const double S = s * s * s * (10.0 + s * (-15.0 + 6.0 * s));
  const double S_x = s < 1.0 ? 30.0 * s * s * (1.0 - s) * (1.0 - s) / width : 0.0;
  // The integral of S x: (2 s^5 - 5/2 s^6 + 6/7 s^7) w^2 within the width, x^2 / 2 beyond it.
  const double within = s * s * s * s * s * (2.0 + s * (-2.5 + 6.0 / 7.0 * s)) * width * width;
  return {.force = stiffness * S * x,
          .slope = stiffness * (S + S_x * x),
          .energy = stiffness * (within + 0.5 * (x * x - s * s * width * width) * (s < 1.0 ? 0.0 : 1.0)),
          .engaged = S,
          .engaged_slope = S_x};
}

void check_limits(const config::Field& field, const Scenario& scenario) {
  check_coordinate(field, scenario);
  if (field["lower"].number() <= field["upper"].number()) return;
  field["lower"].reject("a lower limit not above the upper one", fmt::format("{}", field["lower"].number()),
                        fmt::format("the upper one is {}: swap them", field["upper"].number()));
}

}  // namespace

ForceType coordinate_limit() {
  ForceType type;
  type.name = "coordinate_limit";
  type.meaning = "springs and a damper that stop a coordinate of a custom joint beyond its limits";
  type.keys = {coordinate_key(),
               config::required(config::number("lower", "rad or m", config::coordinates, "lower limit")),
               config::required(config::number("upper", "rad or m", config::coordinates, "upper limit")),
               config::number("lower_stiffness", "N m/rad or N/m", config::stiffnesses, "below the lower limit", 0),
               config::number("upper_stiffness", "N m/rad or N/m", config::stiffnesses, "above the upper limit", 0),
               config::number("damping", "N m s/rad or N s/m", config::stiffnesses, "beyond a limit", 0),
               config::required(config::number("width", "rad or m", config::lengths,
                                               "distance beyond a limit over which spring and damper are ramped up"))};
  type.check = check_limits;
  type.build = [](const ElementSpec& spec, const Model& model) {
    const auto number = [&](const char* key) { return spec.keys[key].number(); };
    return coordinate_force(
        spec, model,
        [lower = number("lower"), upper = number("upper"), k_lower = number("lower_stiffness"),
         k_upper = number("upper_stiffness"), c = number("damping"), width = number("width")](double u, double rate) {
          const Stop above = stop_at(u - upper, k_upper, width);
          const Stop below = stop_at(lower - u, k_lower, width);
          const double damping = c * (above.engaged + below.engaged);
          return CoordinateLaw{
              .force = below.force - above.force - damping * rate,
              .by_value = -above.slope - below.slope - c * (above.engaged_slope - below.engaged_slope) * rate,
              .by_rate = -damping,
              .energy = above.energy + below.energy,
              .damping = -damping * rate};
        });
  };
  return type;
}

}  // namespace heelstrike::mbs
