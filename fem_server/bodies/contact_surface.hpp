/// The flat triangles of a body's surface that may touch, and how displacements and pressures on them follow from the
/// contact nodes.
///
/// A face of a linear tetrahedron is one triangle. A face of a quadratic one is cut into four between its corners and
/// its middles; contact nodes are the middles alone, and a corner is displaced by the mean of the two middles beside
/// it. A side with four corners, of a prism or a hexahedron, is cut into four between its edges and the mean of its
/// corners, which is displaced by their mean: of a plane side each corner then has the integral of its bilinear shape
/// function, so that a uniform pressure is the consistent load of the elements, as it is on the other faces. A side
/// with nine nodes is cut into eight around its centre, each with one corner, which is displaced by the mean of the
/// three nodes of the triangle: that gives each node the integral of its own function again, 1 : 4 : 16. The
/// functions that interpolate pressures are those of the nodes: where a corner of a triangle is no contact node (on a
/// clamp, a corner of a quadratic side, or the middle of a side with four nodes), the others share its function alike,
/// of a side with nine nodes all three do, so that the functions sum to one everywhere and are nowhere negative.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// A corner of a triangle that is no contact node.
inline constexpr std::uint32_t no_contact_node = std::numeric_limits<std::uint32_t>::max();

struct ContactTriangle {
  using Shares = Eigen::Matrix<double, 3, 4>;
  /// Contact node at each corner, or none. Of a quarter of a side with four corners: two of them, none in the middle of
  /// the side, and the other two in the places 2 and 3.
  std::array<std::uint32_t, 4> nodes{no_contact_node, no_contact_node, no_contact_node, no_contact_node};
  Shares displacements = Shares::Zero();  ///< [-] (a, b): share of node b in the displacement of corner a
  Shares functions = Shares::Zero();      ///< [-] (a, b): value at corner a of the function of node b
  /// Corners that could move but are no contact nodes: their displacement is not known.
  std::array<bool, 3> unknown{};
};

struct ContactSurface {
  SurfaceMesh mesh;                        ///< [m] triangles in the body's frame
  std::vector<ContactTriangle> triangles;  ///< of each triangle of the mesh
  /// Nodes of the body whose mean each vertex is: four times the same one, or the corners around the middle of a side.
  std::vector<std::array<std::uint32_t, 4>> vertex_nodes;
};

/// @param faces    ascending, of the boundary
/// @param nodes    contact nodes, ascending node numbers: a ContactTriangle counts in this list
/// @param clamped  ascending node numbers
[[nodiscard]] ContactSurface contact_surface(const VolumeMesh& mesh, std::span<const ElementFace> faces,
                                             std::span<const std::uint32_t> nodes,
                                             std::span<const std::uint32_t> clamped);

/// Where the vertices are when the nodes of the body have moved. @param u  [m] three rows per node
[[nodiscard]] ContactSurface displaced(ContactSurface surface, const Eigen::VectorXd& u);

}  // namespace heelstrike::fem
