/// Intersection of two triangles in a plane.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace heelstrike::fem {

/// A convex polygon, counterclockwise; empty with fewer than three corners.
/// @tparam Value  double, or a number with derivatives: those of the corners that remain
template <class Value>
class ClippedPolygonOf {
 public:
  using Point = Eigen::Matrix<Value, 2, 1>;
  using Triangle = std::array<Point, 3>;
  ClippedPolygonOf() = default;
  explicit ClippedPolygonOf(const Triangle& triangle) : size_(triangle.size()) {
    std::ranges::copy(triangle, corners_.begin());
  }
  /// Keeps the part to the left of the line from `p` to `q` [sutherland1974].
  /// @param tolerance  [m^2] the line is moved to the right by this over its length
  void clip(const Point& p, const Point& q, double tolerance = 0.0) {
    const Point along = q - p;
    // Twice the area of (p, q, x): positive on the left, which is inside for a counterclockwise triangle.
    const auto side = [&](const Point& x) -> Value {
      return along.x() * (x.y() - p.y()) - along.y() * (x.x() - p.x()) + tolerance;
    };
    const std::array<Point, 9> before = corners_;
    const std::size_t n = size_;
    size_ = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Point& a = before[i];
      const Point& b = before[(i + 1) % n];
      const Value side_a = side(a);
      const Value side_b = side(b);
      if (side_a >= 0.0) corners_[size_++] = a;
      // The signs differ, so that the denominator is nonzero.
      if ((side_a < 0.0) == (side_b < 0.0)) continue;
      const Value share = side_a / (side_a - side_b);
      corners_[size_++] = a + share * (b - a);
    }
    if (size_ < 3) size_ = 0;
  }
  [[nodiscard]] std::span<const Point> corners() const { return {corners_.data(), size_}; }

 private:
  // Each of the three lines adds at most one corner to a convex polygon. If rounding of corners on the line makes the
  // polygon slightly non-convex, a line may add up to half of the current number.
  std::array<Point, 9> corners_;
  std::size_t size_ = 0;
};

/// Both counterclockwise. @param tolerance  [m^2] of clip
template <class Value>
[[nodiscard]] ClippedPolygonOf<Value> common_part(const std::array<Eigen::Matrix<Value, 2, 1>, 3>& a,
                                                  const std::array<Eigen::Matrix<Value, 2, 1>, 3>& b,
                                                  double tolerance = 0.0) {
  ClippedPolygonOf<Value> polygon(a);
  for (std::size_t k = 0; k < 3; ++k) polygon.clip(b[k], b[(k + 1) % 3], tolerance);
  return polygon;
}

/// Counterclockwise.
using PlaneTriangle = ClippedPolygonOf<double>::Triangle;
using ClippedPolygon = ClippedPolygonOf<double>;

}  // namespace heelstrike::fem
