#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cmath>

#include "mbs_server/elements/attachment.hpp"
#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/formulation/joint_angle.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

constexpr double max_teeth = 1e6;

void check_gear(const config::Field& field, const Scenario& scenario) {
  const config::Field joints = field["joints"];
  const auto names = config::read_texts(joints);
  for (const auto& item : joints.node().items) {
    (void)read_joint_name(
        config::Field(joints.document(), *item, joints.path()), scenario,
        [](const JointCoordinates& c) { return c.angle; }, "an angle defined before the gear");
  }
  for (const double n : field["teeth"].numbers()) {
    if (n == 0.0 || n != std::round(n)) {
      field["teeth"].reject("whole numbers other than 0", fmt::format("{}", n), "write a ratio as two whole numbers");
    }
  }
  if (names.size() != 2 || names[0] == names[1]) {
    joints.reject("two different joints", fmt::format("{}", fmt::join(names, ", ")), "name two joints");
  }
}

Joint build_gear(const JointSpec& spec, const Model& model) {
  const auto names = config::read_texts(spec.keys["joints"]);
  const auto teeth = spec.keys["teeth"].numbers();
  Joint gear{.name = spec.name};
  gear.make = [name = spec.name, first = find_joint(model, names[0]), second = find_joint(model, names[1]),
               teeth](const ConstVector& q0) {
    std::vector<GearEquation> equation;
    equation.emplace_back(first, second, static_cast<int>(teeth[0]), static_cast<int>(teeth[1]), q0);
    return std::make_unique<GearConstraint>(name, std::move(equation));
  };
  return gear;
}

}  // namespace

JointType gear_joint() {
  JointType type;
  type.name = "gear";
  type.meaning = "gear wheels on two joints rotate by the inverse ratio of their teeth";
  type.keys = {config::required(config::text_list("joints", "two joints with an angle, [first, second]")),
               config::required(config::number_list(
                   "teeth", "-", {.min = -max_teeth, .max = max_teeth},
                   "whole numbers [n1, n2]; n2 angle2 = n1 angle1; opposite signs for wheels that rotate against each "
                   "other",
                   {2}))};
  type.check = check_gear;
  type.build = build_gear;
  return type;
}

}  // namespace heelstrike::mbs
