/// Closest-point and ray queries on a triangulated surface, open or closed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fem_server/geometry/triangle_tree.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// Nearest point, in the frame of the mesh.
struct NearestOnSurface {
  SurfacePoint surface{};  ///< curvature: Hessian of the gap on an edge or a vertex, zero on a face
  std::uint32_t triangle = 0;
  bool beside = false;  ///< nearest point on the rim of an open surface: the query point is beyond it and has no side
};

/// Nearest point with the pseudonormal of its face, edge or vertex.
struct SurfaceFoot {
  ClosestPoint closest;
  Vector3 pseudonormal = Vector3::UnitZ();
  bool beside = false;  ///< as in NearestOnSurface
};

/// Intersection with a line.
struct SurfaceCrossing {
  double ray_distance = 0.0;          ///< [m] along the line
  Vector3 normal = Vector3::UnitZ();  ///< [-] of the triangle
  std::uint32_t triangle = 0;
};

/// Normal interpolated between those of the vertices, and its gradient [1/m] along the triangle.
struct InterpolatedNormal {
  Vector3 normal = Vector3::UnitZ();
  Matrix3 gradient = Matrix3::Zero();
};

/// Thread-safe; queries do not allocate. The side of a point follows from the angle-weighted pseudonormal of the face,
/// edge or vertex of its nearest point [baerentzen2005].
class TriangleSurface {
 public:
  /// @pre at least one triangle, none degenerate
  explicit TriangleSurface(SurfaceMesh mesh);
  TriangleSurface(const TriangleSurface&) = delete;
  TriangleSurface& operator=(const TriangleSurface&) = delete;

  [[nodiscard]] const SurfaceMesh& mesh() const { return mesh_; }
  /// Every edge has two triangles.
  [[nodiscard]] bool closed() const { return closed_; }
  /// Angle-weighted, unit length.
  [[nodiscard]] const Vector3& vertex_normal(std::uint32_t vertex) const { return vertex_normals_[vertex]; }
  [[nodiscard]] const Vector3& face_normal(std::uint32_t triangle) const { return face_normals_[triangle]; }

  /// @param near  triangle tested first; affects the run time only
  [[nodiscard]] NearestOnSurface closest(const Vector3& q, std::uint32_t near) const;
  [[nodiscard]] SurfaceFoot foot(const Vector3& q) const;
  /// As TriangleTree::distance_to_box.
  [[nodiscard]] double distance_to_box(const Vector3& q) const { return tree_.distance_to_box(q); }
  /// As TriangleTree::for_overlapping.
  void for_overlapping(const Vector3& low, const Vector3& high, const std::function<void(std::uint32_t)>& visit) const {
    tree_.for_overlapping(low, high, visit);
  }
  /// As TriangleTree::crossing.
  [[nodiscard]] std::optional<SurfaceCrossing> crossing(const Vector3& origin, const Vector3& direction, double reach,
                                                        bool leaving, std::uint32_t near) const;
  /// @param p  [m] point of the triangle
  [[nodiscard]] InterpolatedNormal interpolated_normal(std::uint32_t triangle, const Vector3& p) const;

 private:
  /// Feature of the triangle that contains a point: the face (both none), an edge or a vertex, by its local number.
  struct Feature {
    std::optional<std::size_t> edge{};  ///< opposite of this corner
    std::optional<std::size_t> vertex{};
  };
  [[nodiscard]] std::array<double, 3> weights(std::uint32_t triangle, const Vector3& p) const;
  [[nodiscard]] Feature feature(std::uint32_t triangle, const Vector3& p) const;
  [[nodiscard]] const Vector3& pseudonormal(std::uint32_t triangle, const Feature& feature) const;
  [[nodiscard]] bool on_rim(std::uint32_t triangle, const Feature& feature) const;

  SurfaceMesh mesh_;
  TriangleTree tree_;
  std::vector<Vector3> face_normals_;
  std::vector<Vector3> vertex_normals_;
  std::vector<std::array<Vector3, 3>> edge_normals_;  ///< per triangle, by the corner opposite of the edge
  std::vector<std::array<bool, 3>> rim_edges_;        ///< as above: the edge has no second triangle
  std::vector<bool> rim_vertices_;
  double resolution_ = 0.0;  ///< [m] distance below which the direction between two points is undefined
  bool closed_ = true;
};

}  // namespace heelstrike::fem
