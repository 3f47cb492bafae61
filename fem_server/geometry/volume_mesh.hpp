/// Tetrahedral meshes with named sets. Knows no finite-element library.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// One face of one tetrahedron.
struct ElementFace {
  std::uint32_t element = 0;
  std::uint8_t face = 0;  ///< 0..3, see `tetrahedron_faces`
  auto operator<=>(const ElementFace&) const = default;
};

/// Corners of the faces of a tetrahedron, counterclockwise seen from outside; face i is face S(i+1) of Abaqus.
inline constexpr std::array<std::array<std::uint8_t, 3>, 4> tetrahedron_faces{
    {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}}};
/// Mid-side nodes of a face of a quadratic tetrahedron: between its corners 0 and 1, 1 and 2, 2 and 0.
inline constexpr std::array<std::array<std::uint8_t, 3>, 4> tetrahedron_face_middles{
    {{6, 5, 4}, {4, 8, 7}, {5, 9, 8}, {7, 9, 6}}};

/// End points of the edges that carry the nodes 4..9 of a quadratic tetrahedron (order of VTK and Abaqus).
inline constexpr std::array<std::array<std::uint8_t, 2>, 6> tetrahedron_edges{
    {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}}};

/// Tetrahedra of one order, numbered so that (x1 - x0) x (x2 - x0) . (x3 - x0) > 0. Nodes 4..9 lie on the edges (0,1),
/// (1,2), (0,2), (0,3), (1,3), (2,3).
struct VolumeMesh {
  std::vector<Vector3> nodes;               ///< [m]
  std::uint32_t nodes_per_element = 4;      ///< 4 or 10
  std::vector<std::uint32_t> connectivity;  ///< n_elements() * nodes_per_element indices into `nodes`
  std::map<std::string, std::vector<std::uint32_t>> element_sets;  ///< sorted, without repetitions
  std::map<std::string, std::vector<std::uint32_t>> node_sets;     ///< sorted, without repetitions
  std::map<std::string, std::vector<ElementFace>> face_sets;       ///< sorted, without repetitions
  std::vector<std::string> notes;  ///< what the reader or mesher changed or left out, one sentence each

  [[nodiscard]] std::size_t n_elements() const { return connectivity.size() / nodes_per_element; }
  [[nodiscard]] std::span<const std::uint32_t> element(std::size_t e) const {
    return {connectivity.data() + e * nodes_per_element, nodes_per_element};
  }
};

/// [m^3] signed volume of the straight-sided tetrahedron on the four corners of element `e`.
[[nodiscard]] double element_volume(const VolumeMesh& mesh, std::size_t e);

/// Faces that belong to one element only, sorted.
[[nodiscard]] std::vector<ElementFace> boundary_faces(const VolumeMesh& mesh);

/// Corners of a face, counterclockwise seen from outside.
[[nodiscard]] Triangle face_corners(const VolumeMesh& mesh, ElementFace face);

/// Boundary as a surface. `vertex_nodes[v]` is the node of vertex v. Mid-side nodes are left out.
struct Boundary {
  SurfaceMesh surface;
  std::vector<std::uint32_t> vertex_nodes;
  std::vector<ElementFace> faces;  ///< face of each triangle
};
[[nodiscard]] Boundary boundary_surface(const VolumeMesh& mesh);

/// All nodes of a set of faces, mid-side nodes included; sorted.
[[nodiscard]] std::vector<std::uint32_t> nodes_of_faces(const VolumeMesh& mesh, std::span<const ElementFace> faces);

/// Removes nodes that no element uses (centres of circles and the like); sets follow. @return how many were removed
std::size_t drop_unused_nodes(VolumeMesh& mesh);

/// The linear mesh with nodes added in the middle of its straight edges. A mid-side node joins a node set when both
/// ends of its edge belong to the set.
/// @pre mesh.nodes_per_element == 4
[[nodiscard]] VolumeMesh to_quadratic(const VolumeMesh& mesh);

}  // namespace heelstrike::fem
