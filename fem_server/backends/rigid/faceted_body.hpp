/// Corners of rigid bodies with sharp edges, and the faces that the corners of another body meet.
///
/// Two bodies that touch do so along a facet of their Minkowski difference [vandenbergen2003]: a corner on a face whose
/// normal the corner can bear, or two edges that cross. Where faces lie on each other many of them coincide, and the
/// point of a surface that is nearest to a corner may lie on a face that the corner's own body is beside of: so the
/// faces around a corner are asked, and not the distance alone.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/backends/rigid/rigid_edges.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

/// A ball that belongs to a body; of radius zero a corner, a vertex of a mesh or a point.
struct Probe {
  Vector3 center = Vector3::Zero();  ///< [m] in the frame of its body
  double radius = 0.0;               ///< [m] >= 0
  /// [-] Directions of the sharp edges that leave a corner; none for everything else.
  std::vector<Vector3> edge_directions{};
};

/// Whether the body around a corner lies beyond the plane through the corner with normal `n` [-].
[[nodiscard]] bool supports(const Probe& corner, const Matrix3& R, const Vector3& n);

/// Vertices that can be the first to touch: not those within flat faces or straight edges, whose ends say the same.
/// @param edges  sharp ones of the mesh
[[nodiscard]] std::vector<Probe> corners_of(const SurfaceMesh& mesh, const std::vector<SharpEdge>& edges);

/// Thread-safe.
class FacetedBody {
 public:
  explicit FacetedBody(SurfaceMesh mesh);
  FacetedBody(const FacetedBody&) = delete;
  FacetedBody& operator=(const FacetedBody&) = delete;

  struct Face {
    Vector3 normal = Vector3::UnitZ();  ///< [-]
    double gap = 0.0;                   ///< [m] of the corner over its plane
    std::uint32_t triangle = 0;
  };
  struct Faces {
    std::vector<Face> touched{};  ///< that the corner touches, or lies over; of each plane one, in order
    bool level = false;           ///< the corner's body lies beyond the plane of another face, and touches this plane
  };
  /// Faces of the body at a corner of another one.
  /// @param p       [m] the corner, in the frame of this body
  /// @param R       rotation of the corner's body into that frame
  /// @param radius  [m] around the corner
  /// @param margin  [m] below which distances are none
  [[nodiscard]] Faces faces_at(const Probe& corner, const Vector3& p, const Matrix3& R, double radius,
                               double margin) const;

 private:
  SurfaceMesh mesh_;
  TriangleTree tree_;
  std::vector<Vector3> normals_;
};

}  // namespace heelstrike::fem
