/// Bounding-volume tree over triangles: closest point and candidate pairs, for surface checks before a run and for the
/// distance to a mesh partner.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

struct ClosestPoint {
  Vector3 point = Vector3::Zero();  ///< [m] on the surface
  double distance = 0.0;            ///< [m] >= 0
  std::uint32_t triangle = 0;
};

/// Intersection of a straight line with a triangle.
struct RayCrossing {
  double ray_distance = 0.0;  ///< [m] >= 0 along the line
  std::uint32_t triangle = 0;
};

/// Built once; the mesh must outlive the tree. Queries are thread-safe.
class TriangleTree {
 public:
  /// @pre at least one triangle
  explicit TriangleTree(const SurfaceMesh& mesh);

  /// The closest point of the surface to `q` [m]; ties are resolved to the smaller triangle index. Does not allocate.
  [[nodiscard]] ClosestPoint closest(const Vector3& q) const;
  /// Same result; the search starts at triangle `near` and is faster the closer that triangle is.
  [[nodiscard]] ClosestPoint closest(const Vector3& q, std::uint32_t near) const;

  /// First triangle that a line intersects; ties go to the smaller index. An edge belongs to both of its triangles.
  /// @param direction  unit length
  /// @param reach      [m] end of the line
  /// @param leaving    true: back faces only, for a ray from inside a body; false: front faces only
  /// @param near       triangle tested first; affects the run time only
  [[nodiscard]] std::optional<RayCrossing> crossing(const Vector3& origin, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t near) const;

  /// [m] from `q` to the box around all triangles, 0 inside: a lower bound of the distance to the surface.
  [[nodiscard]] double distance_to_box(const Vector3& q) const;

  /// Calls `visit` for triangles whose box overlaps the box from `low` to `high` [m], in a fixed order. Does not
  /// allocate.
  void for_overlapping(const Vector3& low, const Vector3& high, const std::function<void(std::uint32_t)>& visit) const;
  /// The same triangles, ascending.
  [[nodiscard]] std::vector<std::uint32_t> overlapping(const Vector3& low, const Vector3& high) const;

  /// Calls `visit(s, t)` for s < t with overlapping boxes, in a fixed order, until it returns false.
  void for_overlapping_pairs(const std::function<bool(std::uint32_t, std::uint32_t)>& visit) const;

 private:
  struct Box {
    Vector3 low;
    Vector3 high;
    [[nodiscard]] bool overlaps(const Box& other) const;
    [[nodiscard]] double squared_distance(const Vector3& q) const;
  };
  struct Node {
    Box box;
    std::uint32_t first = 0;  ///< leaf: into order_; inner: index of the left child
    std::uint32_t right = 0;  ///< inner: index of the right child
    std::uint32_t count = 0;  ///< 0 for inner nodes
  };
  std::uint32_t build(std::size_t begin, std::size_t end);
  [[nodiscard]] Box triangle_box(std::uint32_t triangle) const;
  /// Distance [m] along the line to its intersection with triangle `t`; none when there is none within `reach`.
  [[nodiscard]] std::optional<double> distance_through(std::uint32_t t, const Vector3& origin, const Vector3& direction,
                                                       double reach, bool leaving) const;

  const SurfaceMesh& mesh_;
  std::vector<std::uint32_t> order_;
  std::vector<std::array<Vector3, 3>> corners_;  ///< [m] in that order, for spatial locality in memory
  std::vector<Node> nodes_;
  double rounding_ = 0.0;  ///< [m] bound on the rounding error of the box sides
};

/// Closest point of the triangle abc to `q` [ericson2005, section 5.1.5].
[[nodiscard]] Vector3 closest_on_triangle(const Vector3& q, const Vector3& a, const Vector3& b, const Vector3& c);

/// Farthest point of one surface from another.
struct FarthestPoint {
  double distance = 0.0;            ///< [m]
  Vector3 point = Vector3::Zero();  ///< [m] on the first surface; zero if the surfaces coincide
};

/// Maximum distance [m] from the vertices and centroids of `from` to the surface `to`.
[[nodiscard]] FarthestPoint find_farthest_point(const SurfaceMesh& from, const TriangleTree& to);

}  // namespace heelstrike::fem
