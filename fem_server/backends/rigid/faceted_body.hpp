/// Corners of rigid bodies with sharp edges, and the faces in contact with corners of another body.
///
/// Two bodies touch along a facet of their Minkowski difference [vandenbergen2003]: a corner on a face whose normal the
/// corner supports, or two crossing edges. Where faces lie on each other, many of these facets coincide, and the
/// nearest surface point of a corner may lie on a face that the corner's own body lies beside: so the faces around a
/// corner are checked, not only the distance.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/backends/rigid/rigid_edges.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

/// A ball fixed in a body; with radius zero a corner, a mesh vertex or a point.
struct Probe {
  Vector3 center = Vector3::Zero();  ///< [m] in the frame of its body
  double radius = 0.0;               ///< [m] >= 0
  /// [-] Directions of the sharp edges that leave a corner; none for everything else.
  std::vector<Vector3> edge_directions{};
};

/// True if the body around a corner lies beyond the plane through the corner with normal `n` [-].
[[nodiscard]] bool supports(const Probe& corner, const Matrix3& R, const Vector3& n);

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
