#include "common/config/sections/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>

#include "common/config/keys.hpp"

namespace heelstrike::config {

namespace {

/// Points and axes: in the world, or one for each body.
KeyUse joint_keys_of(const Field& field) {
  const std::string& type = field["type"].text();
  if (type == "gear") return {.needed = {"joints", "teeth"}, .allowed = {}};
  KeyUse use{.needed = {"bodies"}, .allowed = {}};
  const bool has_axis = type != "spherical" && type != "distance" && type != "fixed";
  if (type == "distance") use.allowed = {"length"};
  if (type == "fixed") use.allowed = {"point"};
  if (field.has("points") || field.has("axes")) {
    use.needed.emplace_back("points");
    if (has_axis) use.needed.emplace_back("axes");
    return use;
  }
  if (type != "fixed") use.needed.emplace_back("point");
  if (has_axis) use.needed.emplace_back("axis");
  if (type == "distance") use.needed.emplace_back("second_point");
  if (type == "universal") use.needed.emplace_back("second_axis");
  return use;
}

JointSpec read_gear(const Field& field, JointSpec joint, const std::vector<JointSpec>& others) {
  for (const auto& item : field["joints"].node().items) {
    const auto other = std::ranges::find(others, item->scalar, &JointSpec::name);
    if (other == others.end() || (other->type != "revolute" && other->type != "cylindrical")) {
      field["joints"].refuse("names of two revolute or cylindrical joints that stand above the gear",
                             fmt::format("'{}'", excerpt(item->scalar)), "name such joints");
    }
    joint.joints.push_back(item->scalar);
  }
  for (const double n : field["teeth"].numbers()) {
    if (n == 0.0 || n != std::round(n) || std::abs(n) > 1e6) {
      field["teeth"].refuse("whole numbers other than 0", fmt::format("{}", n), "write a ratio as two whole numbers");
    }
    joint.teeth.push_back(static_cast<int>(n));
  }
  if (joint.joints.size() != 2 || joint.joints[0] == joint.joints[1]) {
    field["joints"].refuse("two different joints", fmt::format("{}", fmt::join(joint.joints, ", ")), "name two joints");
  }
  return joint;
}

}  // namespace

KeySchema joint_keys() {
  return {.name = "joints",
          .kind = KeyKind::named,
          .meaning =
              "joints by name; points and axes are given in the world at the initial poses (`point`, `axis`), or in "
              "the frame of each body (`points`, `axes`)",
          .keys = {
              {.name = "type",
               .kind = KeyKind::text,
               .meaning = "kind of joint",
               .required = true,
               .choices = {"spherical", "revolute", "cylindrical", "prismatic", "universal", "planar", "fixed",
                           "point_on_line", "point_on_plane", "distance", "gear"}},
              text_list("bodies", "[a, b], names of two bodies or `ground`; a carries the line or plane"),
              number_list("point", "m", coordinates, "point of the joint, in the world; the end on a of a rod", {3}),
              number_list("second_point", "m", coordinates, "the end on b of a rod, in the world", {3}),
              vector3_list("points", "m", coordinates, "the point in the frame of a and in the frame of b"),
              number_list("axis", "-", direction_entries,
                          "axis, direction of a line, or normal of a plane, in the world", {3}),
              number_list("second_axis", "-", direction_entries,
                          "universal: the axis on b, in the world, normal to `axis`", {3}),
              vector3_list("axes", "-", direction_entries, "the axis in the frame of a and in the frame of b"),
              number("length", "m", lengths, "length of a rod; that of the initial poses when not given"),
              text_list("joints", "gear: two revolute or cylindrical joints [first, second]"),
              number_list(
                  "teeth", "-", {.min = -1e6, .max = 1e6},
                  "gear: whole numbers [n1, n2]; n2 angle2 = n1 angle1; opposite signs for wheels that turn against "
                  "each other",
                  {2}),
              {.name = "reactions",
               .kind = KeyKind::flag,
               .meaning = "write the joint's force and torque on b, at the joint's point, in the world",
               .fallback = "false"},
          }};
}

JointSpec read_joint(const Field& field, const Scenario& scenario) {
  JointSpec joint{.name = field.name(), .type = field["type"].text()};
  joint.where = place_of(field);
  joint.reactions = field["reactions"].flag();
  check_keys(field, joint.type, joint_keys_of(field), {"type", "reactions"});
  if (joint.type == "gear" && joint.reactions) {
    field["reactions"].refuse("reactions of a joint between two bodies", "a gear", "remove it");
  }
  if (joint.type == "gear") return read_gear(field, std::move(joint), scenario.joints);
  joint.bodies = read_joint_bodies(field["bodies"], scenario.bodies);
  joint.in_world = !field.has("points");
  joint.length = field.optional_number("length");
  if (!joint.in_world) {
    joint.points = read_two(field["points"], false);
    if (field.has("axes")) joint.axes = read_two(field["axes"], true);
    return joint;
  }
  if (field.has("point")) joint.points = {field["point"].vector3()};
  if (field.has("axis")) joint.axes = {read_direction(field["axis"])};
  if (field.has("second_point")) joint.second_point = field["second_point"].vector3();
  if (field.has("second_axis")) joint.second_axis = read_direction(field["second_axis"]);
  return joint;
}

}  // namespace heelstrike::config
