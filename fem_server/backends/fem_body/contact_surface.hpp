/// The flat triangles of a body's surface that may touch, and how displacements and pressures on them follow from the
/// contact nodes.
///
/// A face of a linear tetrahedron is one triangle. A face of a quadratic one is cut into four between its corners and
/// its middles; contact nodes are the middles alone, and a corner is displaced by the mean of the two middles beside
/// it. The functions that interpolate pressures are those of the nodes: where a corner of a triangle is no contact node
/// (on a clamp, or a corner of a quadratic face), the others share its function alike, so that the functions sum to one
/// everywhere and are nowhere negative.
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
  std::array<std::uint32_t, 3> nodes{};     ///< contact node at each corner, or none
  Matrix3 displacements = Matrix3::Zero();  ///< [-] (a, b): share of the node of corner b in the displacement of a
  Matrix3 functions = Matrix3::Zero();      ///< [-] (a, b): value at corner a of the function of the node of corner b
  /// Corners that could move but are no contact nodes: their displacement is not known.
  std::array<bool, 3> unknown{};
};

struct ContactSurface {
  SurfaceMesh mesh;                        ///< [m] triangles in the body's frame
  std::vector<ContactTriangle> triangles;  ///< of each triangle of the mesh
};

/// @param faces    ascending, of the boundary
/// @param nodes    contact nodes, ascending node numbers: a ContactTriangle counts in this list
/// @param clamped  ascending node numbers
[[nodiscard]] ContactSurface contact_surface(const VolumeMesh& mesh, std::span<const ElementFace> faces,
                                             std::span<const std::uint32_t> nodes,
                                             std::span<const std::uint32_t> clamped);

}  // namespace heelstrike::fem
