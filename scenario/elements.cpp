#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

std::vector<KeySchema> attachment_keys(const AttachmentKeys& use) {
  using Points = AttachmentKeys::Points;
  using Axes = AttachmentKeys::Axes;
  // Keys of two forms: all in the world, or all in the frames of the bodies.
  const auto form = [](const char* name, KeySchema key, bool needed) {
    key.form = name;
    key.required = needed;
    return key;
  };
  const bool needs_point = use.points != Points::optional;
  std::vector<KeySchema> keys = {required(text_list("bodies", "[a, b], names of two bodies or `ground`"))};
  keys.push_back(form("world", number_list("point", "m", coordinates, use.point_meaning, {3}), needs_point));
  if (use.points == Points::two) {
    keys.push_back(form(
        "world", number_list("second_point", "m", coordinates, "the end on b, in the world at the initial poses", {3}),
        true));
  }
  if (use.axes != Axes::none) {
    keys.push_back(form("world",
                        number_list("axis", "-", direction_entries,
                                    "axis, direction of a line, or normal of a plane, in the world at the initial "
                                    "poses; a carries the line or plane",
                                    {3}),
                        true));
  }
  if (use.axes == Axes::two) {
    keys.push_back(
        form("world",
             number_list("second_axis", "-", direction_entries, "the axis on b, in the world, normal to `axis`", {3}),
             true));
  }
  keys.push_back(
      form("bodies", vector3_list("points", "m", coordinates, "the points, one in the frame of each body"), true));
  if (use.axes != Axes::none) {
    keys.push_back(
        form("bodies", vector3_list("axes", "-", direction_entries, "the axes, one in the frame of each body"), true));
  }
  return keys;
}

Attachment read_attachment(const Field& field, const std::vector<BodySpec>& bodies) {
  Attachment ends{.bodies = read_joint_bodies(field["bodies"], bodies), .in_world = !field.has("points")};
  if (!ends.in_world) {
    ends.points = read_two(field["points"], false);
    if (field.has("axes")) ends.axes = read_two(field["axes"], true);
    return ends;
  }
  if (field.has("point")) ends.points = {field["point"].vector3()};
  if (field.has("axis")) ends.axes = {read_direction(field["axis"])};
  if (field.has("second_point")) ends.second_point = field["second_point"].vector3();
  if (field.has("second_axis")) ends.second_axis = read_direction(field["second_axis"]);
  return ends;
}

ElementSpec read_element(const Field& field, std::shared_ptr<const Document> document, const Scenario& scenario) {
  ElementSpec element{.name = field.name(),
                      .type = field["type"].text(),
                      .document = std::move(document),
                      .keys = field,
                      .where = location_of(field)};
  if (field.has("bodies")) element.ends = read_attachment(field, scenario.bodies);
  return element;
}

KeySchema joint_keys(const Catalog& catalog) {
  KeySchema type = required(text("type", "kind of joint"));
  return {.name = "joints",
          .kind = KeyKind::named,
          .meaning =
              "joints by name; points and axes are given in the world at the initial poses (`point`, `axis`), or in "
              "the frame of each body (`points`, `axes`)",
          .keys = {variant_of(std::move(type), catalog.joints)}};
}

JointSpec read_joint(const Field& field, const std::shared_ptr<const Document>& document, const Scenario& scenario,
                     const Catalog& catalog) {
  JointSpec joint{read_element(field, document, scenario)};
  const JointSchema& type = type_named(catalog.joints, joint.type);
  joint.coordinates = type.coordinates;
  joint.reactions = field.has("reactions") && field["reactions"].flag();
  if (type.check) type.check(field, scenario);
  return joint;
}

KeySchema force_keys(const Catalog& catalog) {
  KeySchema type = required(text("type", "kind of element"));
  return {.name = "forces",
          .kind = KeyKind::named,
          .meaning = "springs, ligaments, muscles and bushings by name",
          .keys = {variant_of(std::move(type), catalog.forces)}};
}

ElementSpec read_force(const Field& field, const std::shared_ptr<const Document>& document, Scenario& scenario,
                       const Catalog& catalog) {
  ElementSpec force = read_element(field, document, scenario);
  const ElementType& type = type_named(catalog.forces, force.type);
  for (const auto& key : type.functions) {
    if (!field.has(key)) continue;
    force.functions.emplace(key, read_function(field[key], scenario.analysis.end_time, scenario.files));
  }
  for (const KeySchema& key : type.keys) {
    if (key.role == KeyRole::file) add_file(scenario.files, field.text_or(key.name));
  }
  if (type.check) type.check(field, scenario);
  return force;
}

KeySchema driver_keys(const Catalog& catalog) {
  return {.name = "drivers",
          .kind = KeyKind::named,
          .meaning = "prescribed motion of a joint or of a body, by name",
          .keys = {variant_of(text("", "kind of driver"), catalog.drivers)}};
}

DriverSpec read_driver(const Field& field, Scenario& scenario, const Catalog& catalog) {
  DriverSpec driver;
  driver.name = field.name();
  driver.where = location_of(field);
  const KeySchema section = driver_keys(catalog);
  driver.type = chosen_type(section.keys.front(), field.node())->name;
  type_named(catalog.drivers, driver.type).read(field, driver, scenario);
  return driver;
}

}  // namespace heelstrike::config
