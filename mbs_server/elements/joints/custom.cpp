#include <fmt/format.h>
#include <algorithm>

#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "mbs_server/elements/attachment.hpp"

#include "mbs_server/elements/joints/joint_type.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/function_constraint.hpp"
#include "scenario/coordinate_functions.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

config::KeySchema axis_list(const char* name, const char* unit, const std::string& meaning) {
  config::KeySchema of{.name = "of",
                       .kind = config::KeyKind::named,
                       .meaning = "functions of coordinates, by their names, that are added",
                       .keys = config::coordinate_function_keys()};
  return {.name = name,
          .kind = config::KeyKind::list,
          .unit = unit,
          .meaning = meaning,
          .keys = {{.kind = config::KeyKind::map,
                    .meaning = "an axis and the motion about or along it",
                    .keys = {config::direction("axis", "direction"),
                             config::number("constant", unit, config::coordinates, "added to the functions", 0),
                             std::move(of)}}}};
}

/// The entries of a list.
std::vector<config::Field> items_of(const config::Field& field, const char* key) {
  std::vector<config::Field> items;
  if (!field.has(key)) return items;
  const config::Field list = field[key];
  for (const auto& item : list.node().items) items.emplace_back(list.document(), *item, list.path());
  return items;
}

MotionAxis read_axis(const config::Field& field, const std::vector<std::string>& names) {
  MotionAxis axis{.direction = config::read_direction(field["axis"]), .constant = field["constant"].number()};
  for (const config::Field& term : field.entries_of("of")) {
    const auto name = std::ranges::find(names, term.name());
    if (name == names.end()) {
      const auto near = nearest_name(term.name(), names);
      term.reject("a name in `coordinates` of the joint", fmt::format("'{}'", term.name()),
                  near ? fmt::format("did you mean '{}'?", *near) : "list it there");
    }
    axis.terms.push_back(
        {.coordinate = static_cast<std::size_t>(name - names.begin()), .f = config::read_coordinate_function(term)});
  }
  return axis;
}

CoordinateTransform read_transform(const config::Field& field) {
  CoordinateTransform transform;
  for (Eigen::Index k = 0; k < 6; ++k) {
    transform.axes[static_cast<std::size_t>(k)].direction = Vector3::Unit(k % 3);
  }
  for (const config::Field& coordinate : field["coordinates"].entries()) {
    transform.names.push_back(coordinate.name());
    transform.near.push_back(coordinate["initial"].number());
  }
  std::size_t first = 0;
  for (const char* key : {"rotations", "translations"}) {
    const auto items = items_of(field, key);
    if (!items.empty() && items.size() != 3) {
      field[key].reject("three axes", fmt::format("{}", items.size()), "include those without a function");
    }
    for (std::size_t k = 0; k < items.size(); ++k) {
      transform.axes[first + k] = read_axis(items[k], transform.names);
    }
    first += 3;
  }
  transform.radii = field["ellipsoid"].vector3();
  return transform;
}

Pose frame_in_body(const config::Field& field, std::size_t side) {
  Pose X_BF;
  if (field.has("points")) X_BF.p = config::read_two(field["points"], false).at(side);
  const auto orientations = items_of(field, "orientations");
  if (!orientations.empty()) X_BF.R = config::read_rotation(orientations.at(side));
  return X_BF;
}

void check_custom(const config::Field& field, const Scenario& scenario) {
  const CoordinateTransform transform = read_transform(field);
  if (transform.names.empty() || transform.names.size() > 6) {
    field["coordinates"].reject("one to six coordinates", fmt::format("{}", transform.names.size()),
                                "use a fixed joint for none");
  }
  const auto orientations = items_of(field, "orientations");
  if (!orientations.empty() && orientations.size() != 2) {
    field["orientations"].reject("two quaternions", fmt::format("{}", orientations.size()), "one for each body");
  }
  for (const JointSpec& joint : scenario.joints) {
    for (const std::string& name : coordinate_names(joint)) {
      if (std::ranges::find(transform.names, name) == transform.names.end()) continue;
      field["coordinates"].reject("names that no other joint has", fmt::format("'{}' in '{}' too", name, joint.name),
                                  "choose another name");
    }
  }
  try {
    (void)CoordinateMap({}, {}, transform);
  } catch (const Error& error) {
    field.reject("coordinates that determine the pose", error.what(), "correct its axes and functions");
  }
}

Joint build_custom(const JointSpec& spec, const Model& model) {
  Joint joint{.name = spec.name};
  JointSide* sides[2] = {&joint.a, &joint.b};
  for (std::size_t k = 0; k < 2; ++k) {
    sides[k]->body = find_body(model, spec.ends->bodies.at(k), spec.keys.path() + ".bodies");
    sides[k]->X_BF = frame_in_body(spec.keys, k);
  }
  joint.map = std::make_shared<CoordinateMap>(joint.a, joint.b, read_transform(spec.keys));
  joint.make = [name = spec.name, map = joint.map](const ConstVector&) {
    return std::make_unique<FunctionConstraint>(name, joint_residuals(map));
  };
  return joint;
}

}  // namespace

bool is_rotation(const JointSpec& joint, const std::string& name) {
  const CoordinateTransform transform = read_transform(joint.keys);
  const auto found = std::ranges::find(transform.names, name);
  if (found == transform.names.end()) return false;
  return CoordinateMap({}, {}, transform).is_rotation(static_cast<std::size_t>(found - transform.names.begin()));
}

JointType custom_joint() {
  JointType type;
  type.name = "custom";
  type.meaning =
      "the pose of b in a is a function of one to six coordinates: three successive rotations, then translations along "
      "axes of a, "
      "as in OpenSim's CustomJoint";
  type.coordinates = {.named = true};
  type.keys = {config::required(config::text_list("bodies", "[a, b], names of two bodies or `ground`")),
               config::vector3_list("points", "m", config::coordinates,
                                    "origins of the joint's frames, one in the frame of each body; default 0"),
               {.name = "orientations",
                .kind = config::KeyKind::list,
                .meaning = "of the joint's frames, one in the frame of each body, as unit quaternions",
                .keys = {config::quaternion("", "orientation of a frame")}},
               config::required({.name = "coordinates",
                                 .kind = config::KeyKind::named,
                                 .meaning = "the coordinates by name, in rad or m",
                                 .keys = {config::number("initial", "-", config::coordinates,
                                                         "value at the initial poses; selects the nearest of "
                                                         "equivalent angles",
                                                         0)}}),
               axis_list("rotations", "rad", "three rotations, about axes carried along by the preceding rotations"),
               axis_list("translations", "m", "translations along three axes of a's frame"),
               config::vector3("ellipsoid", "m", config::coordinates,
                               "radii of an ellipsoid about a's frame on which b's origin lies, where its z axis "
                               "points"),
               {.name = "reactions",
                .kind = config::KeyKind::flag,
                .meaning = "write the joint's force and torque on b, at the joint's point, in the world",
                .fallback = false}};
  type.check = check_custom;
  type.build = build_custom;
  return type;
}

}  // namespace heelstrike::mbs
