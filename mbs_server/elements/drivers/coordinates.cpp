#include <fmt/format.h>
#include <algorithm>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/drivers/driver_type.hpp"
#include "mbs_server/formulation/driver_equations.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

void read_coordinates_driver(const config::Field& field, DriverSpec& driver, Scenario& scenario) {
  const config::Field coordinates = field["coordinates"];
  for (const config::Field& entry : coordinates.entries()) {
    const JointSpec& joint = read_coordinate_name(entry, entry.name(), scenario);
    for (const DriverSpec& other : scenario.drivers) {
      if (other.type != driver.type || !other.functions.contains(entry.name())) continue;
      entry.reject("a coordinate without another driver", fmt::format("'{}' in '{}' too", entry.name(), other.name),
                   "keep one of them");
    }
    driver.functions.emplace(entry.name(), config::read_function(entry["follows"], scenario.analysis.end_time,
                                                                 scenario.files, is_rotation(joint, entry.name())));
  }
  if (driver.functions.empty()) coordinates.reject("a coordinate", "none", "name one and its function");
}

/// One driver for the coordinates of each joint; the rotations of a joint with three of them form a separate driver.
std::vector<Driver> build_coordinates_driver(const DriverSpec& spec, const Model& model) {
  std::vector<Driver> drivers;
  for (const Joint& joint : model.joints) {
    if (!joint.map) continue;
    const CoordinateMap& map = *joint.map;
    std::vector<std::size_t> rotations, others;
    for (std::size_t i = 0; i < map.n(); ++i) {
      if (!spec.functions.contains(map.transform().names[i])) continue;
      (map.is_rotation(i) ? rotations : others).push_back(i);
    }
    const bool attitude = rotations.size() == 3 && map.is_pure_rotation();
    if (!attitude) others.insert(others.end(), rotations.begin(), rotations.end());
    const auto add = [&](const std::vector<std::size_t>& places, bool all_rotations) {
      if (places.empty()) return;
      Driver driver{.name = spec.name};
      for (const std::size_t i : places) {
        const std::string& name = map.transform().names[i];
        driver.coordinates.push_back({name, map.is_rotation(i) ? "rad" : "m", resolved(spec.functions.at(name))});
      }
      driver.make = [name = spec.name, map = joint.map, places,
                     all_rotations](const std::vector<DrivenCoordinate>& x) -> std::unique_ptr<Constraint> {
        std::vector<TimeFunctionPtr> functions;
        for (const DrivenCoordinate& coordinate : x) functions.push_back(coordinate.function);
        return all_rotations ? drive_rotations(name, map, functions) : drive_coordinates(name, map, places, functions);
      };
      drivers.push_back(std::move(driver));
    };
    if (attitude) add(rotations, true);
    add(others, false);
  }
  return drivers;
}

}  // namespace

DriverType coordinates_driver() {
  DriverType type;
  type.name = "coordinates";
  type.meaning = "coordinates of custom joints follow functions of time";
  type.keys = {config::required({.name = "coordinates",
                                 .kind = config::KeyKind::named,
                                 .meaning = "coordinates by name",
                                 .keys = {config::required(config::function_keys("follows", config::coordinate_unit,
                                                                                 "value of the coordinate"))}})};
  type.read = read_coordinates_driver;
  type.build = build_coordinates_driver;
  return type;
}

}  // namespace heelstrike::mbs
