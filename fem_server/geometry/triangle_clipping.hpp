/// Intersection of two triangles in a plane.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <span>

namespace heelstrike::fem {

/// Counterclockwise.
using PlaneTriangle = std::array<Eigen::Vector2d, 3>;

/// A convex polygon, counterclockwise; empty with fewer than three corners.
class ClippedPolygon {
 public:
  ClippedPolygon() = default;
  explicit ClippedPolygon(const PlaneTriangle& triangle);
  /// Keeps the part to the left of the line from `p` to `q` [sutherland1974].
  void clip(const Eigen::Vector2d& p, const Eigen::Vector2d& q);
  [[nodiscard]] std::span<const Eigen::Vector2d> corners() const { return {corners_.data(), size_}; }

 private:
  // Each of the three lines adds at most one corner to a convex polygon. If rounding of corners on the line makes the
  // polygon slightly non-convex, a line may add up to half of the current number.
  std::array<Eigen::Vector2d, 9> corners_;
  std::size_t size_ = 0;
};

[[nodiscard]] ClippedPolygon common_part(const PlaneTriangle& a, const PlaneTriangle& b);

}  // namespace heelstrike::fem
