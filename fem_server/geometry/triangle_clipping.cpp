#include "fem_server/geometry/triangle_clipping.hpp"

#include <algorithm>

namespace heelstrike::fem {

ClippedPolygon::ClippedPolygon(const PlaneTriangle& triangle) : size_(triangle.size()) {
  std::ranges::copy(triangle, corners_.begin());
}

void ClippedPolygon::clip(const Eigen::Vector2d& p, const Eigen::Vector2d& q) {
  const Eigen::Vector2d along = q - p;
  // Twice the area of (p, q, x): positive on the left, which is inside for a counterclockwise triangle.
  const auto side = [&](const Eigen::Vector2d& x) { return along.x() * (x.y() - p.y()) - along.y() * (x.x() - p.x()); };
  const std::array<Eigen::Vector2d, 9> before = corners_;
  const std::size_t n = size_;
  size_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Eigen::Vector2d& a = before[i];
    const Eigen::Vector2d& b = before[(i + 1) % n];
    const double side_a = side(a);
    const double side_b = side(b);
    if (side_a >= 0.0) corners_[size_++] = a;
    // The signs differ, so that the denominator is nonzero.
    if ((side_a < 0.0) != (side_b < 0.0)) corners_[size_++] = a + side_a / (side_a - side_b) * (b - a);
  }
  if (size_ < 3) size_ = 0;
}

ClippedPolygon common_part(const PlaneTriangle& a, const PlaneTriangle& b) {
  ClippedPolygon polygon(a);
  for (std::size_t k = 0; k < 3; ++k) polygon.clip(b[k], b[(k + 1) % 3]);
  return polygon;
}

}  // namespace heelstrike::fem
