/// Edges of two rigid bodies that cross: where neither body's corners meet the other, as of two bars laid across.
///
/// Edges of the two bodies touch along the common normal of both when it lies in the normal cones of both (the arcs of
/// their Gauss maps cross).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// A convex edge of a body.
struct SharpEdge {
  Vector3 a = Vector3::Zero();              ///< [m]
  Vector3 b = Vector3::Zero();              ///< [m]
  std::array<Vector3, 2> normals;           ///< [-] out of the faces on its sides, as n0 x n1 points from a to b
  std::array<std::uint32_t, 2> vertices{};  ///< of the mesh: a and b
  [[nodiscard]] SharpEdge moved(const Pose& X) const;
};

/// Convex edges where the faces turn by more than 20 degrees. At flatter ones, of meshes that stand for smooth
/// surfaces, the vertices tell of the contact to the sagitta of the triangles.
[[nodiscard]] std::vector<SharpEdge> sharp_edges(const SurfaceMesh& mesh);

/// Closed, and no edge is concave.
[[nodiscard]] bool is_convex(const SurfaceMesh& mesh);

/// [rad] largest turn of faces at convex edges that are not sharp: triangles that stand for a curve. 0 = none do.
[[nodiscard]] double max_edge_rotation(const SurfaceMesh& mesh);

/// [rad] by which a normal may lie outside of the cone of an edge or a corner: where faces lie on each other it is the
/// border of the cone, and the pose of a body at rest rounds to either side.
inline constexpr double cone_rounding = 1e-5;

/// [rad] The same of edges that cross. An edge that lies on a face meets two of that face's edges; when it tips, its
/// common normal with the one that it leaves is out of the cone, and yet the bodies touch there again in a moment.
inline constexpr double edge_tilt = 1e-3;

/// The normal n lies between those of the faces of an edge. @param n  [-] at right angles to it
/// @param outside  [rad] by which it may lie outside
[[nodiscard]] bool in_cone(const SharpEdge& edge, const Vector3& n, double outside = cone_rounding);
/// [m] from a point at gap n off the edge to its wedge: outside the edge is nearest, inside one of the faces.
[[nodiscard]] double from_wedge(const SharpEdge& edge, const Vector3& n, double gap);

/// Where two edges come nearest to each other, inside both.
struct EdgeCrossing {
  Vector3 p_A, p_B;  ///< [m] on the edges; p_B - p_A = gap n
  Vector3 n;         ///< [-] out of the first body
  double gap;        ///< [m]
  /// [m] distance of p_B from the first body, and of p_A from the second, where nothing but these edges is near: each
  /// body is the wedge between its faces.
  double gap_A, gap_B;
  bool tips;  ///< the normal is out of a cone: not a place where the bodies touch, but one where they may in a moment
};
/// @param A, B    in one frame
/// @param margin  [m] by which an end may miss the other edge: where corners lie on edges the pose rounds to either
/// side
/// @return none when they are parallel, their common normal is in neither cone, or one ends on the other's face and
///         lies beyond the other face of that edge, so that what both bodies share has no extent
[[nodiscard]] std::optional<EdgeCrossing> crossing(const SharpEdge& A, const SharpEdge& B, double margin);

}  // namespace heelstrike::fem
