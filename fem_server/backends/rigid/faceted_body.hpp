/// Crossing edges of two rigid bodies: contact without a corner on either body, e.g. of two bars laid crosswise.
///
/// Edges of the two bodies touch along the common normal of both when it lies in the normal cones of both (the arcs of
/// their Gauss maps cross).
///
/// Corners of rigid bodies with sharp edges, and the faces in contact with corners of another body.
///
/// Two bodies touch along a facet of their Minkowski difference [vandenbergen2003]: a corner on a face whose normal the
/// corner supports, or two crossing edges. Where faces lie on each other, many of these facets coincide, and the
/// nearest surface point of a corner may lie on a face that the corner's own body lies beside: so the faces around a
/// corner are checked, not only the distance.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

/// A convex edge of a body.
struct SharpEdge {
  Vector3 a = Vector3::Zero();              ///< [m]
  Vector3 b = Vector3::Zero();              ///< [m]
  std::array<Vector3, 2> normals;           ///< [-] out of the adjacent faces, such that n0 x n1 points from a to b
  std::array<std::uint32_t, 2> vertices{};  ///< of the mesh: a and b
  [[nodiscard]] SharpEdge moved(const Pose& X) const;
};

/// Convex edges with an angle of more than 20 degrees between the faces; of meshes with fewer than 80 triangles all. At
/// flatter ones, of meshes that approximate smooth surfaces, the vertices resolve the contact up to the sagitta of the
/// triangles.
[[nodiscard]] std::vector<SharpEdge> sharp_edges(const SurfaceMesh& mesh);

/// True if the mesh is closed and no edge is concave.
[[nodiscard]] bool is_convex(const SurfaceMesh& mesh);

/// [rad] largest angle of faces at convex edges that are not sharp: triangles that approximate a curve. 0 = none.
[[nodiscard]] double max_edge_rotation(const SurfaceMesh& mesh);

/// [rad] by which a normal may lie outside the cone of an edge or a corner: where faces lie on each other the normal is
/// on the border of the cone, and the pose of a body at rest rounds to either side.
inline constexpr double cone_rounding = 1e-5;

/// [rad] The same for crossing edges and for corners above a face. An edge on a face crosses two edges of that face;
/// when it tips, its common normal with the edge that it leaves is outside the cone, although the bodies may touch
/// there again immediately. So may the corner of a box that rises while the box tips over its opposite edge.
inline constexpr double edge_tilt = 1e-3;

/// True if the normal n lies between those of the faces of an edge. @param n  [-] perpendicular to the edge
/// @param outside  [rad] by which it may lie outside
[[nodiscard]] bool in_cone(const SharpEdge& edge, const Vector3& n, double outside = cone_rounding);
/// [m] from a point at gap n off the edge to its wedge. Outside, for a positive gap, the edge is nearest. For a
/// negative one it is a face: where the normals turn by more than 90 degrees the point may lie beyond that face, and
/// outside.
/// @pre n lies in the cone of the edge
[[nodiscard]] double from_wedge(const SharpEdge& edge, const Vector3& n, double gap);

/// Closest points of two edges, inside both.
struct EdgeCrossing {
  Vector3 p_A, p_B;  ///< [m] on the edges; p_B - p_A = gap n
  Vector3 n;         ///< [-] out of the first body
  double gap;        ///< [m]
  /// [m] distance of p_B from the first body, and of p_A from the second, if only these edges are near: each body is
  /// the wedge between its faces.
  double gap_A, gap_B;
  bool is_from_cone;  ///< the normal is outside a cone: the bodies do not touch here but may do so immediately
  /// [m] Where the wedges overlap and p_A, p_B lie outside both, because both are sharper than 90 degrees: a point of
  /// the first edge within the wedge of the second body, and its distance from that wedge. None elsewhere.
  std::optional<Vector3> inner{};
  double gap_inner = 0.0;
};
/// @param A, B    in one frame
/// @param margin  [m] by which an end may miss the other edge: where corners lie on edges, the pose rounds to either
/// side
/// @return none when the edges are parallel, their common normal is in neither cone, or one ends on the other's face
///         and lies beyond the other face of that edge, so that the overlap of the bodies has no extent
[[nodiscard]] std::optional<EdgeCrossing> crossing(const SharpEdge& A, const SharpEdge& B, double margin);

/// A ball fixed in a body; with radius zero a corner, a mesh vertex or a point.
struct Probe {
  Vector3 center = Vector3::Zero();  ///< [m] in the frame of its body
  double radius = 0.0;               ///< [m] >= 0
  /// [-] Directions of the sharp edges that leave a corner; none for everything else.
  std::vector<Vector3> edge_directions{};
};

/// True if the body around a corner lies beyond the plane through the corner with normal `n` [-].
/// @param outside  [rad] by which its edges may lie below the plane
[[nodiscard]] bool supports(const Probe& corner, const Matrix3& R, const Vector3& n, double outside = cone_rounding);

/// Vertices that can touch first: not those within flat faces or straight edges, whose ends are equivalent.
/// @param edges  sharp edges of the mesh
[[nodiscard]] std::vector<Probe> corners_of(const SurfaceMesh& mesh, const std::vector<SharpEdge>& edges);

/// Thread-safe.
class FacetedBody {
 public:
  explicit FacetedBody(SurfaceMesh mesh);
  FacetedBody(const FacetedBody&) = delete;
  FacetedBody& operator=(const FacetedBody&) = delete;

  struct Face {
    Vector3 normal = Vector3::UnitZ();  ///< [-]
    double gap = 0.0;                   ///< [m] of the corner above its plane
    std::uint32_t triangle = 0;
  };
  struct Faces {
    std::vector<Face> touched{};  ///< faces in contact with the corner or below it; one per plane, ordered
    bool level = false;           ///< the corner's body lies beyond the plane of another face and touches this plane
  };
  /// Faces of the body near a corner of another body.
  /// @param p       [m] the corner, in the frame of this body
  /// @param R       rotation of the corner's body into that frame
  /// @param radius  [m] around the corner
  /// @param margin  [m] below which distances count as zero
  [[nodiscard]] Faces faces_at(const Probe& corner, const Vector3& p, const Matrix3& R, double radius,
                               double margin) const;

 private:
  SurfaceMesh mesh_;
  TriangleTree tree_;
  std::vector<Vector3> normals_;
};

}  // namespace heelstrike::fem
