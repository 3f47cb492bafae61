#include "scenario/surfaces/mesh.hpp"

#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/anatomical_axes.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike {

namespace {

/// A file identified by its digest needs no name.
void check_mesh(const Surface& surface, bool /*is_rigid*/, const std::string& where) {
  (void)parse_anatomical_axes(text_or_none(surface.values, "axes"), where + "." + MeshSurface::kind + ".axes");
  const bool file = surface.values.contains("file");
  const bool asset = surface.values.contains("asset");
  if (file != asset || (!file && !surface.sha256.empty())) return;
  throw_invalid_value(where + "." + MeshSurface::kind, "exactly one of file and asset", file ? "both" : "none of them",
                      "name the mesh file with `file:`, or a mesh in the contact server's folder with `asset:`");
}

config::KeySchema mesh_keys() {
  return {
      .name = MeshSurface::kind,
      .kind = config::KeyKind::map,
      .meaning = "triangle or volume mesh: one of `file` and `asset`",
      .keys = {
          config::file("file", "mesh file, relative to the scenario file"),
          config::file("asset", "name of a mesh in the contact server's asset folder", config::KeyRole::asset),
          config::text(
              "format",
              "file format if not determined by the name, e.g. stl or msh; `heelstrike mesh --help` lists all"),
          config::number("length_scale", "m per file unit", config::scales, "0.001 for a file in millimetres", 1),
          config::vector3("position", "m", config::coordinates, "origin of the file's coordinates in the body's frame"),
          config::quaternion("orientation", "rotation of the file's axes in the body's frame, [w, x, y, z]"),
          config::text("axes",
                       "anatomical directions of x, y and z of the body's frame, which pages then name, e.g. "
                       "`posterior superior medial`")}};
}

}  // namespace

std::optional<MeshSurface> MeshSurface::of(const Surface& surface) {
  if (surface.kind != kind) return std::nullopt;
  const ParameterMap& values = surface.values;
  const std::vector<double>& q = numbers(values, "orientation");
  return MeshSurface{.sha256 = surface.sha256,
                     .asset_name = asset_of(surface).value_or(AssetKey{}).name,
                     .format = text_or_none(values, "format"),
                     .length_scale = number(values, "length_scale"),
                     .X_BodyMesh = {.R = rotation_from_quaternion(Quaternion(q.at(0), q.at(1), q.at(2), q.at(3))),
                                    .p = vector3(values, "position")}};
}

MeshSurface::operator Surface() const {
  const Quaternion q = quaternion_from_rotation(X_BodyMesh.R);
  Surface surface{.kind = kind,
                  .values = {{"length_scale", length_scale},
                             {"position", listed(X_BodyMesh.p)},
                             {"orientation", std::vector<double>{q.w(), q.x(), q.y(), q.z()}}},
                  .sha256 = sha256};
  if (!asset_name.empty()) surface.values["asset"] = asset_name;
  if (!format.empty()) surface.values["format"] = format;
  return surface;
}

SurfaceKind mesh_kind() {
  return {
      .keys = mesh_keys(), .place = "position", .fills = true, .check = check_mesh, .axes = [](const Surface& surface) {
        return parse_anatomical_axes(text_or_none(surface.values, "axes"), "axes");
      }};
}

}  // namespace heelstrike
