#include <fmt/format.h>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/formulation/driver_equations.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

constexpr const char* angle_key = "angle";
constexpr const char* displacement_key = "displacement";

void read_joint_driver(const config::Field& field, DriverSpec& driver, Scenario& scenario) {
  const JointSpec& joint = read_joint_name(
      field["joint"], scenario, [](const JointCoordinates& c) { return c.angle || c.displacement; },
      "an angle or a displacement");
  driver.joint = joint.name;
  const auto add = [&](const char* key, bool has_coordinate) {
    if (!field.has(key)) return;
    if (!has_coordinate) {
      field[key].reject(fmt::format("a free coordinate of '{}'", joint.name),
                        fmt::format("`{}` of a {} joint", key, joint.type), "drive another coordinate");
    }
    driver.functions.emplace(
        key, config::read_function(field[key], scenario.analysis.end_time, scenario.files, key == angle_key));
  };
  add(angle_key, joint.coordinates.angle);
  add(displacement_key, joint.coordinates.displacement);
  if (driver.functions.empty()) field.reject("a motion", "none", "add e.g. `angle:`");
}

std::vector<Driver> build_joint_driver(const DriverSpec& spec, const Model& model) {
  std::vector<Driver> drivers;
  const Joint joint = find_joint(model, spec.joint);
  const auto add = [&](const char* key, const char* unit, auto drive) {
    const auto function = spec.functions.find(key);
    if (function == spec.functions.end()) return;
    drivers.push_back({.name = spec.name,
                       .coordinates = {{key, unit, resolved(function->second)}},
                       .make = [name = spec.name, joint, drive](const std::vector<DrivenCoordinate>& x) {
                         return drive(name, joint, x[0].function);
                       }});
  };
  add(angle_key, "rad", drive_angle);
  add(displacement_key, "m", drive_displacement);
  return drivers;
}

}  // namespace

DriverType joint_driver() {
  DriverType type;
  type.name = "joint";
  type.meaning = "a joint's angle and displacement follow functions of time";
  type.keys = {
      config::required(config::text("joint", "the driven joint")),
      config::function_keys(angle_key, "rad", "angle of a joint that has one, 0 at the initial poses"),
      config::function_keys(displacement_key, "m", "displacement along the axis of a joint, 0 at the initial poses")};
  type.read = read_joint_driver;
  type.build = build_joint_driver;
  return type;
}

}  // namespace heelstrike::mbs
