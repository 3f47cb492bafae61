/// Triangulated surface of a partner, or of a body before tetrahedral meshing.
///
/// Edges, neighbours and connected components of a surface.
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

/// Removes vertices that no triangle uses. @return their number
std::size_t remove_unused_vertices(SurfaceMesh& mesh);

/// Use of an edge by a triangle with three different indices.
struct EdgeUse {
  std::array<std::uint32_t, 2> edge{};  ///< sorted vertices
  std::uint32_t triangle = 0;
  bool forward = true;  ///< the triangle traverses the edge from the smaller to the larger vertex
  auto operator<=>(const EdgeUse&) const = default;
};

/// All edge uses, sorted, so that uses of one edge are adjacent. Triangles with a repeated corner are omitted.
[[nodiscard]] std::vector<EdgeUse> edge_uses(const SurfaceMesh& mesh);

/// End of the run of uses of the same edge that starts at `begin`.
[[nodiscard]] std::size_t end_of_edge(const std::vector<EdgeUse>& uses, std::size_t begin);

/// Component index of every triangle. Triangles are connected through shared edges; components are ordered by their
/// first triangle.
struct Components {
  std::vector<std::uint32_t> of_triangle;
  std::uint32_t count = 0;
};
[[nodiscard]] Components connected_components(const SurfaceMesh& mesh);

/// Volume properties of a component.
struct ComponentVolume {
  bool closed = false;  ///< every edge is used exactly twice
  double volume = 0.0;  ///< [m^3] signed, when closed
  bool cavity = false;  ///< lies inside an odd number of other closed components: normals should point inward
};
[[nodiscard]] std::vector<ComponentVolume> component_volumes(const SurfaceMesh& mesh, const Components& components);

}  // namespace heelstrike::fem
