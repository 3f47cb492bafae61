#include "mbs_server/elements/joint_reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/config/mistakes.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"

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
               near ? fmt::format("did you mean '{}'?", *near) : "name such a joint");
}

}  // namespace heelstrike::mbs
