/// Edges, neighbours and connected components of a surface.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

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
