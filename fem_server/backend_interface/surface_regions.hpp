/// Regions of a surface whose loads are reported separately, e.g. the two compartments of a knee.
///
/// Parts of a body's surface chosen by the parameters of a pair: the clamp and the possible contact surface.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Data of a surface that define its regions.
struct RegionSurface {
  std::string name;                                               ///< "casting surface", for messages
  Vector3 middle;                                                 ///< [m] of its bounding box
  std::vector<Vector3> centers;                                   ///< [m] of its triangles
  std::vector<std::pair<std::string, std::vector<bool>>> sets{};  ///< named sets, per triangle; they may overlap
};

/// @param name  see RegionSurface
[[nodiscard]] RegionSurface cut_surface(std::string name, const SurfaceMesh& mesh);

/// Regions may overlap.
struct SurfaceRegion {
  std::string name;
  std::vector<bool> triangles;
};

/// `regions` and `region_center`.
/// @param surface  "the casting surface"
/// @param body     "the casting body", in whose frame the planes are defined
[[nodiscard]] std::vector<ParameterSchema> region_parameters(const std::string& surface, const std::string& body);

/// @param where  prefix of keys, "contact.NAME.parameters."
/// @throws Error{invalid_input} unless region_center is a point or absent
void check_region_center(const ParameterMap& parameters, const std::string& where);

/// @param names   separated by blanks: names of the surface's sets, `sets` for all of these; x- x+ y- y+ z- z+ for the
///                triangles on one side of a plane across an axis of the body's frame, `halves` for all of these.
///                Empty = no regions
/// @param center  [m] point of the planes; empty = the middle of the surface
/// @param key     of the names, for messages
/// @throws Error{invalid_input} for an unknown name, one that occurs twice or cannot head a column, and for a region
///         without triangles or with all of them
[[nodiscard]] std::vector<SurfaceRegion> surface_regions(const std::string& names, const std::vector<double>& center,
                                                         const RegionSurface& surface, const std::string& key);

/// Names of regions of any kind.
template <typename Regions>
[[nodiscard]] std::vector<std::string> region_names(const Regions& regions) {
  std::vector<std::string> names;
  for (const auto& region : regions) names.push_back(region.name);
  return names;
}

/// clamped_set, clamped_box, contact_set, contact_box, contact_direction and contact_angle.
[[nodiscard]] std::vector<ParameterSchema> body_set_parameters();

/// Nodes of clamped_set and clamped_box, ascending; none when both are absent.
/// @throws Error{invalid_input} for a set that does not exist in the mesh and for a box without a node
[[nodiscard]] std::vector<std::uint32_t> clamped_nodes(const VolumeMesh& mesh, const ParameterScope& place);

/// Faces of contact_set, otherwise of the boundary, restricted by contact_box and contact_direction. Of a side that
/// consists of several faces, either all or none are chosen.
/// @param cut  faces inside the body exposed by a cut, ascending: the removed part still lies behind them, so they
///             have no contact
/// @throws Error{invalid_input} for a set that does not exist in the mesh
[[nodiscard]] std::vector<ElementFace> contact_faces(const VolumeMesh& mesh, std::span<const ElementFace> cut,
                                                     const ParameterScope& place);

}  // namespace heelstrike::fem
