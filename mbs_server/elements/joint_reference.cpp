#include "mbs_server/elements/joint_reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::mbs {

const JointSpec& read_joint_name(const config::Field& field, const Scenario& scenario, HasCoordinate has,
                                 const std::string& what) {
  std::vector<std::string> fitting;
  for (const JointSpec& joint : scenario.joints) {
    if (!has(joint.coordinates)) continue;
    if (joint.name == field.text()) return joint;
    fitting.push_back(joint.name);
  }
  std::vector<std::string> types;
  for (const JointType& type : joint_types()) {
    if (has(type.coordinates)) types.push_back(type.name);
  }
  const auto near = nearest_name(field.text(), fitting);
  field.refuse(fmt::format("the name of a joint with {} ({})", what, fmt::join(types, ", ")),
               fmt::format("'{}'", config::excerpt(field.text())),
               near ? fmt::format("did you mean '{}'?", *near) : "name one of these joints");
}

std::vector<std::string> coordinate_names(const JointSpec& joint) {
  std::vector<std::string> names;
  if (!joint.coordinates.named) return names;
  for (const config::Field& coordinate : joint.keys["coordinates"].entries()) names.push_back(coordinate.name());
  return names;
}

const JointSpec& read_coordinate_name(const config::Field& field, const std::string& name, const Scenario& scenario) {
  std::vector<std::string> known;
  for (const JointSpec& joint : scenario.joints) {
    for (const std::string& coordinate : coordinate_names(joint)) {
      if (coordinate == name) return joint;
      known.push_back(coordinate);
    }
  }
  const auto near = nearest_name(name, known);
  field.refuse("the name of a coordinate of a joint defined earlier", fmt::format("'{}'", config::excerpt(name)),
               near ? fmt::format("did you mean '{}'?", *near) : "custom joints have coordinates");
}

CoordinateReference find_coordinate(const Model& model, const std::string& name) {
  for (const Joint& joint : model.joints) {
    if (!joint.map) continue;
    const auto& names = joint.map->transform().names;
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return {.joint = &joint, .coordinate = static_cast<std::size_t>(found - names.begin())};
  }
  throw Error(ErrorCode::internal, "coordinate '" + name + "' was not checked");
}

}  // namespace heelstrike::mbs
