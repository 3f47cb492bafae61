/// Flat triangles of the contact surface of a body, and the interpolation of displacements and pressures on them from
/// the contact nodes.
///
/// A face of a linear tetrahedron is one triangle. A face of a quadratic one is divided into four triangles between its
/// corners and mid-side nodes; only the mid-side nodes are contact nodes, and a corner moves with the mean of its two
/// neighbouring mid-side nodes. A side with four corners, of a prism or a hexahedron, is divided into four between its
/// edges and the mean of its corners, which moves with their mean: on a plane side each corner then has the integral of
/// its bilinear shape function, so that a uniform pressure is the consistent load of the elements, as on the other
/// faces. A side with nine nodes is divided into eight around its centre, each with one corner, which moves with the
/// mean of the three nodes of the triangle: each node then again has the integral of its own function, 1 : 4 : 16.
/// Pressures are interpolated by the functions of the nodes: where a corner of a triangle is no contact node (on a
/// clamp, a corner of a quadratic side, or the middle of a side with four nodes), the other nodes share its function
/// equally (on a side with nine nodes, all three), so that the functions sum to one everywhere and are nowhere
/// negative.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Marks a corner of a triangle that is no contact node.
inline constexpr std::uint32_t no_contact_node = std::numeric_limits<std::uint32_t>::max();

struct ContactTriangle {
  using Shares = Eigen::Matrix<double, 3, 4>;
  /// Contact node at each corner, or none. For a quarter of a side with four corners: two of them, none for the middle
  /// of the side, and the other two in the entries 2 and 3.
  std::array<std::uint32_t, 4> nodes{no_contact_node, no_contact_node, no_contact_node, no_contact_node};
  Shares displacements = Shares::Zero();  ///< [-] (a, b): share of node b in the displacement of corner a
  Shares functions = Shares::Zero();      ///< [-] (a, b): value at corner a of the function of node b
  /// Corners that can move but are no contact nodes: their displacement is unknown.
  std::array<bool, 3> unknown{};
};

struct ContactSurface {
  SurfaceMesh mesh;                        ///< [m] triangles in the body's frame
  std::vector<ContactTriangle> triangles;  ///< of each triangle of the mesh
  /// Nodes of the body whose mean is the vertex: four times the same node, or the corners around the middle of a side.
  std::vector<std::array<std::uint32_t, 4>> vertex_nodes;
};

/// @param faces    ascending, of the boundary
/// @param nodes    contact nodes, ascending node numbers: a ContactTriangle refers to positions in this list
/// @param clamped  ascending node numbers
[[nodiscard]] ContactSurface contact_surface(const VolumeMesh& mesh, std::span<const ElementFace> faces,
                                             std::span<const std::uint32_t> nodes,
                                             std::span<const std::uint32_t> clamped);

/// Vertices displaced with the nodes of the body. @param u  [m] three rows per node
[[nodiscard]] ContactSurface displaced(ContactSurface surface, const Eigen::VectorXd& u);

}  // namespace heelstrike::fem
