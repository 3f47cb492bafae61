/// Triangulated surface of a partner, or of a body before tetrahedral meshing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

using Triangle = std::array<std::uint32_t, 3>;

/// Vertices and triangles; counterclockwise seen from outside, so that normals point out of the body.
struct SurfaceMesh {
  std::vector<Vector3> vertices;               ///< [m]
  std::vector<Triangle> triangles;             ///< indices into `vertices`
  std::vector<std::string> group_names;        ///< solids, OBJ groups or physical groups, in the order of the file
  std::vector<std::uint32_t> triangle_groups;  ///< one index into `group_names` per triangle; empty when there are none
  std::vector<std::string> notes;              ///< changes and omissions by the reader, one sentence each
};

/// Twice the area [m^2] times the unit normal of triangle `t`.
[[nodiscard]] Vector3 triangle_cross(const SurfaceMesh& mesh, std::size_t t);

/// [m^2] sum over all triangles.
[[nodiscard]] double surface_area(const SurfaceMesh& mesh);

/// [m^3] volume enclosed, by the divergence theorem; negative for an inverted closed surface, undefined for an open
/// one.
[[nodiscard]] double signed_volume(const SurfaceMesh& mesh);

/// Mirrors y -> -y and reverses the triangles: a right foot from a left one.
[[nodiscard]] SurfaceMesh mirrored_in_y(const SurfaceMesh& mesh);

}  // namespace heelstrike::fem
