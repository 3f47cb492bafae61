#include "common/config/sections/sections.hpp"

#include <fmt/format.h>

#include "common/config/keys.hpp"

namespace heelstrike::config {

namespace {

KeySchema foot_keys() {
  const FootDimensions d;
  const auto dimension = [](std::string name, double fallback, std::string meaning) {
    return number(std::move(name), "m", lengths, std::move(meaning), fmt::format("{}", fallback));
  };
  return {.name = "foot",
          .kind = KeyKind::map,
          .meaning =
              "parametric foot, origin at the ankle joint centre, x forward, y to the left, z up; deformable bodies "
              "only. Sets: skin, cap (the cut above the ankle)",
          .keys = {dimension("length", d.length, "heel to the longest toe"),
                   dimension("ball_breadth", d.ball_breadth, "largest breadth, across the ball"),
                   dimension("heel_breadth", d.heel_breadth, "largest breadth of the heel"),
                   dimension("arch_height", d.arch_height, "of the sole's arch above the ground"),
                   dimension("instep_height", d.instep_height, "of the back of the foot at half its length"),
                   dimension("toe_height", d.toe_height, "of the big toe"),
                   dimension("ankle_height", d.ankle_height, "ankle joint centre above the ground"),
                   dimension("heel_to_ankle", d.heel_to_ankle, "back of the heel to the ankle joint centre"),
                   dimension("cut_height", d.cut_height, "flat cut above the ankle joint centre"),
                   {.name = "side",
                    .kind = KeyKind::text,
                    .meaning = "which foot",
                    .fallback = "left",
                    .choices = {"left", "right"}},
                   vector3("ankle", "m", coordinates, "ankle joint centre in the body's frame")}};
}

MeshSurface read_mesh(const Field& field, std::vector<std::string>& files) {
  if (field.has("file") == field.has("asset")) {
    field.refuse("exactly one of file and asset", field.has("file") ? "both" : "none of them",
                 "name the mesh file with `file:`, or a mesh in the contact server's folder with `asset:`");
  }
  const std::string file = field.text_or("file");
  add_file(files, file);
  return {.sha256 = {},
          .asset_name = file.empty() ? field.text_or("asset") : file,
          .format = field.text_or("format"),
          .length_scale = field["length_scale"].number(),
          .X_BodyMesh = {.R = read_rotation(field["orientation"]), .p = field["position"].vector3()}};
}

PointCloudSurface read_points(const Field& field) {
  PointCloudSurface cloud{.points = {}, .areas = field["areas"].numbers()};
  const Field positions = field["positions"];
  for (const auto& item : positions.node().items) {
    cloud.points.push_back(Field(positions.document(), *item, positions.path()).vector3());
  }
  if (cloud.points.empty()) positions.refuse("at least one point", "an empty list", "add points or use a mesh");
  if (cloud.points.size() != cloud.areas.size()) {
    field["areas"].refuse(fmt::format("as many areas as points ({}) [m^2]", cloud.points.size()),
                          fmt::format("{}", cloud.areas.size()), "give one tributary area for each point");
  }
  return cloud;
}

FootSurface read_foot_surface(const Field& field) {
  const auto length = [&](const char* key) { return field[key].number(); };
  return {.dimensions = {.length = length("length"),
                         .ball_breadth = length("ball_breadth"),
                         .heel_breadth = length("heel_breadth"),
                         .arch_height = length("arch_height"),
                         .instep_height = length("instep_height"),
                         .toe_height = length("toe_height"),
                         .ankle_height = length("ankle_height"),
                         .heel_to_ankle = length("heel_to_ankle"),
                         .cut_height = length("cut_height")},
          .right = field["side"].text() == "right",
          .ankle = field["ankle"].vector3()};
}

/// Core and layers.
void read_structure(const Field& field, CylinderSurface& cylinder) {
  cylinder.core_radius = field.optional_number("core_radius").value_or(0.0);
  if (cylinder.core_radius >= cylinder.radius) {
    field["core_radius"].refuse(fmt::format("a radius below that of the cylinder, {} m", cylinder.radius),
                                fmt::format("{} m", cylinder.core_radius), "make it smaller, or leave it away");
  }
  if (!field.has("layers")) return;
  if (field.has("length")) {
    field["length"].refuse("no length beside layers", fmt::format("{} m", cylinder.length),
                           "the length is the sum of the layers: remove it");
  }
  cylinder.length = 0.0;
  for (const Field& layer : field["layers"].entries()) {
    cylinder.layers.push_back({.name = layer.name(), .height = layer["height"].number()});
    cylinder.length += cylinder.layers.back().height;
  }
  if (cylinder.layers.empty()) field["layers"].refuse("at least one layer", "none", "add one, or give `length`");
}

}  // namespace

KeySchema surface_keys() {
  const KeySchema center = vector3("center", "m", coordinates, "centre in the body's frame");
  return {
      .name = "surface",
      .kind = KeyKind::one_of,
      .meaning = "geometry in the body's frame",
      .required = true,
      .keys = {
          {.name = "sphere",
           .kind = KeyKind::map,
           .meaning = "ball, or a spherical socket",
           .keys = {required(number("radius", "m", lengths, "radius")),
                    center,
                    {.name = "concave",
                     .kind = KeyKind::flag,
                     .meaning = "true for a socket: material outside of the sphere",
                     .fallback = "false"}}},
          {.name = "plane",
           .kind = KeyKind::map,
           .meaning = "half space",
           .keys = {vector3("normal", "-", direction_entries,
                            "direction towards the free side; any length but zero, normalised when read", "[0, 0, 1]"),
                    vector3("point", "m", coordinates, "any point of the plane")}},
          {.name = "cylinder",
           .kind = KeyKind::map,
           .meaning = "round cylinder",
           .keys = {required(number("radius", "m", lengths, "radius")),
                    vector3("axis", "-", direction_entries,
                            "direction of the axis; any length but zero, normalised when read", "[0, 0, 1]"),
                    center,
                    number("length", "m", lengths, "length; infinite when not given; not with layers"),
                    number("core_radius", "m", lengths,
                           "makes the element sets core and shell, for `materials`; below the radius"),
                    {.name = "layers",
                     .kind = KeyKind::named,
                     .meaning = "slices along the axis from its negative end, by name: element sets for `materials`",
                     .keys = {required(number("height", "m", lengths, "thickness of the slice"))}}}},
          {.name = "block",
           .kind = KeyKind::map,
           .meaning = "rectangular block, edges along the body's axes; deformable bodies only. Sets: bottom (z-), top, "
                      "left (y+), right, front (x+), back, side",
           .keys = {{.name = "lengths",
                     .kind = KeyKind::numbers,
                     .unit = "m",
                     .meaning = "along x, y, z",
                     .required = true,
                     .range = lengths,
                     .sizes = {3}},
                    center}},
          foot_keys(),
          {.name = "mesh",
           .kind = KeyKind::map,
           .meaning = "triangle or volume mesh: one of `file` and `asset`",
           .keys = {text("file", "mesh file, relative to the scenario file"),
                    text("asset", "name of a mesh in the contact server's asset folder"),
                    text("format", "file format when the name does not tell it: stl, obj, ply, vtp, msh, inp, vtu"),
                    number("length_scale", "m per file unit", scales, "0.001 for a file in millimetres", "1"),
                    vector3("position", "m", coordinates, "origin of the file's coordinates in the body's frame"),
                    quaternion("orientation", "rotation of the file's axes in the body's frame, [w, x, y, z]")}},
          {.name = "points",
           .kind = KeyKind::map,
           .meaning = "point cloud",
           .keys = {{.name = "positions",
                     .kind = KeyKind::list,
                     .unit = "m",
                     .meaning = "the points",
                     .required = true,
                     .keys = {required(vector3("", "m", coordinates, "one point"))}},
                    {.name = "areas",
                     .kind = KeyKind::numbers,
                     .unit = "m^2",
                     .meaning = "tributary area of each point, as many as points",
                     .required = true,
                     .range = areas}}},
      }};
}

Surface read_surface(const Field& choice, std::vector<std::string>& files) {
  const Field field = choice.entries().front();
  if (field.name() == "sphere") {
    const double radius = field["radius"].number();
    return SphereSurface{.radius = field["concave"].flag() ? -radius : radius, .center = field["center"].vector3()};
  }
  if (field.name() == "plane") {
    return PlaneSurface{.normal = read_direction(field["normal"]), .point = field["point"].vector3()};
  }
  if (field.name() == "cylinder") {
    CylinderSurface cylinder;
    cylinder.radius = field["radius"].number();
    cylinder.axis = read_direction(field["axis"]);
    cylinder.center = field["center"].vector3();
    cylinder.length = field.optional_number("length").value_or(cylinder.length);
    read_structure(field, cylinder);
    return cylinder;
  }
  if (field.name() == "block") {
    return BlockSurface{.lengths = field["lengths"].vector3(), .center = field["center"].vector3()};
  }
  if (field.name() == "foot") return read_foot_surface(field);
  if (field.name() == "mesh") return read_mesh(field, files);
  return read_points(field);
}

}  // namespace heelstrike::config
