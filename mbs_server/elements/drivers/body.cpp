#include <fmt/format.h>
#include <array>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/formulation/driver_equations.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

constexpr std::array<const char*, 3> position_keys = {"x", "y", "z"};
constexpr std::array<const char*, 3> angle_keys = {"rx", "ry", "rz"};

void read_body_driver(const config::Field& field, DriverSpec& driver, Scenario& scenario) {
  driver.body = config::read_body_name(field["body"], scenario.bodies, false);
  int n_angles = 0;
  for (const auto& keys : {position_keys, angle_keys}) {
    for (const char* key : keys) {
      if (!field.has(key)) continue;
      const bool is_angle = keys == angle_keys;
      driver.functions.emplace(key,
                               config::read_function(field[key], scenario.analysis.end_time, scenario.files, is_angle));
      if (is_angle) ++n_angles;
    }
  }
  if (n_angles != 0 && n_angles != 3) {
    field.reject("all of rx, ry and rz or none", fmt::format("{} of them", n_angles),
                 "an orientation has three angles; fix one at zero with {polynomial: [0]}");
  }
  if (driver.functions.empty()) field.reject("a motion", "none", "add e.g. `x:`");
}

std::vector<Driver> build_body_driver(const DriverSpec& spec, const Model& model) {
  std::vector<Driver> drivers;
  const BodyIndex body = find_body(model, spec.body, "drivers." + spec.name + ".body");
  for (std::size_t c = 0; c < position_keys.size(); ++c) {
    const auto position = spec.functions.find(position_keys[c]);
    if (position == spec.functions.end()) continue;
    drivers.push_back({.name = spec.name,
                       .coordinates = {{position_keys[c], "m", resolved(position->second)}},
                       .make = [name = spec.name, body, c](const std::vector<DrivenCoordinate>& x) {
                         return drive_position(name, body, static_cast<int>(c), x[0].function);
                       }});
  }
  if (spec.functions.contains(angle_keys[0])) {
    Driver orientation{.name = spec.name, .make = [name = spec.name, body](const std::vector<DrivenCoordinate>& x) {
                         return drive_orientation(name, body, {x[0].function, x[1].function, x[2].function});
                       }};
    for (const char* key : angle_keys)
      orientation.coordinates.push_back({key, "rad", resolved(spec.functions.at(key))});
    drivers.push_back(std::move(orientation));
  }
  return drivers;
}

}  // namespace

DriverType body_driver() {
  DriverType type;
  type.name = "body";
  type.meaning = "a body's position and orientation follow functions of time";
  type.keys = {
      config::required(config::text("body", "the driven body")),
      config::function_keys("x", "m", "x of the body's origin in the world"),
      config::function_keys("y", "m", "y of the body's origin in the world"),
      config::function_keys("z", "m", "z of the body's origin in the world"),
      config::function_keys("rx", "rad", "orientation R = Rx(rx) Ry(ry) Rz(rz) of the body; all three or none"),
      config::function_keys("ry", "rad", "see rx"),
      config::function_keys("rz", "rad", "see rx")};
  type.read = read_body_driver;
  type.build = build_body_driver;
  return type;
}

}  // namespace heelstrike::mbs
