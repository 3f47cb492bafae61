/// Bounding-volume tree over triangles: closest point and candidate pairs, for checks of a surface before a run and for
/// the distance to a partner that is a mesh.
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

/// Where a straight line goes through a triangle.
struct RayCrossing {
  double way = 0.0;  ///< [m] >= 0 along the line
  std::uint32_t triangle = 0;
};

/// Built once over a mesh that must outlive it. Queries may run in several threads.
class TriangleTree {
 public:
  /// @pre at least one triangle
  explicit TriangleTree(const SurfaceMesh& mesh);

  /// The closest point of the surface to `q` [m]; the smaller triangle index wins a tie. Does not allocate.
  [[nodiscard]] ClosestPoint closest(const Vector3& q) const;
  /// The same point, found the sooner the nearer the triangle `near` is to it.
  [[nodiscard]] ClosestPoint closest(const Vector3& q, std::uint32_t near) const;

  /// The first triangle that a line goes through; the smaller index wins a tie. An edge belongs to both its triangles.
  /// @param direction  unit length
  /// @param reach      [m] end of the line
  /// @param leaving    through triangles that are met from behind, from inside of a body; else from their front
  /// @param near       a triangle that is tried first: changes the time, not the answer
  [[nodiscard]] std::optional<RayCrossing> crossing(const Vector3& origin, const Vector3& direction, double reach,
                                                 bool leaving, std::uint32_t near) const;

  /// [m] from `q` to the box around all triangles, 0 inside: no point of the surface is nearer.
  [[nodiscard]] double distance_to_box(const Vector3& q) const;

  /// Calls `visit` for triangles whose box overlaps the box from `low` to `high` [m], in a fixed order. Does not
  /// allocate.
  void for_overlapping(const Vector3& low, const Vector3& high, const std::function<void(std::uint32_t)>& visit) const;
  /// The same triangles, ascending.
  [[nodiscard]] std::vector<std::uint32_t> overlapping(const Vector3& low, const Vector3& high) const;

  /// Calls `visit(s, t)` for s < t with overlapping boxes, in a fixed order, until it answers false.
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
  /// Way [m] at which the line goes through triangle `t`; none when it does not within `reach`.
  [[nodiscard]] std::optional<double> distance_through(std::uint32_t t, const Vector3& origin, const Vector3& direction,
                                                  double reach, bool leaving) const;

  const SurfaceMesh& mesh_;
  std::vector<std::uint32_t> order_;
  std::vector<std::array<Vector3, 3>> corners_;  ///< [m] in that order: neighbours in space are neighbours in memory
  std::vector<Node> nodes_;
  double rounding_ = 0.0;  ///< [m] by which the sides of boxes may be wrong
};

/// Closest point of the triangle abc to `q` [ericson2005, section 5.1.5].
[[nodiscard]] Vector3 closest_on_triangle(const Vector3& q, const Vector3& a, const Vector3& b, const Vector3& c);

/// Of one surface from another.
struct FarthestPoint {
  double distance = 0.0;            ///< [m]
  Vector3 point = Vector3::Zero();  ///< [m] of the first surface; zero where both agree
};

/// Largest distance [m] from the vertices and centroids of `from` to the surface `to`.
[[nodiscard]] FarthestPoint find_farthest_point(const SurfaceMesh& from, const TriangleTree& to);

}  // namespace heelstrike::fem
