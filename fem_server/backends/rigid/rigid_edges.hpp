/// Edges of two rigid bodies that cross: where neither body's corners meet the other, as of two bars laid across.
///
/// Edges of the two bodies touch along the common normal of both when it lies in the normal cones of both (the arcs of
/// their Gauss maps cross).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "common/surfaces/block.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// A convex edge of a body.
struct SharpEdge {
  Vector3 a = Vector3::Zero();     ///< [m]
  Vector3 b = Vector3::Zero();     ///< [m]
  std::array<Vector3, 2> normals;  ///< [-] out of the faces on its sides, as n0 x n1 points from a to b
  [[nodiscard]] SharpEdge moved(const Pose& X) const;
};

/// Convex edges where the faces turn by more than 20 degrees. At flatter ones, of meshes that stand for smooth
/// surfaces, the vertices tell of the contact to the sagitta of the triangles.
[[nodiscard]] std::vector<SharpEdge> sharp_edges(const SurfaceMesh& mesh);
[[nodiscard]] std::vector<SharpEdge> sharp_edges(const BlockSurface& block);

/// Where two edges come nearest to each other, inside both.
struct EdgeCrossing {
  Vector3 p_A, p_B;  ///< [m] on the edges; p_B - p_A = gap n
  Vector3 n;         ///< [-] out of the first body
  double gap;        ///< [m]
  /// [m] distance of p_B from the first body, and of p_A from the second, where nothing but these edges is near: each
  /// body is the wedge between its faces.
  double gap_A, gap_B;
};
/// @param A, B  in one frame. @return none when they are parallel, or their common normal is in neither cone
[[nodiscard]] std::optional<EdgeCrossing> crossing(const SharpEdge& A, const SharpEdge& B);

}  // namespace heelstrike::fem
