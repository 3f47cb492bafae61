#include "fem_server/backends/elastic_foundation/casting_square.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// [-] of the edge of the square: covers the rounding of positions, and is the smallest step along the rim.
constexpr double square_rounding = 1e-9;
/// Steps along one edge of the rim are distances to the target, and thus few but for a grazing one.
constexpr int max_rim_steps = 1000;

}  // namespace

CastingSquare::CastingSquare(const PlaneSurface& plane, const SurfaceMesh& square, const Surface& target,
                             const SurfaceMesh* triangles, std::string where)
    : where_(std::move(where)) {
  const auto& [a, b, c] = square.triangles.front();
  // The longest edge of a right triangle is a diagonal.
  const std::array<Vector3, 3> p{square.vertices[a], square.vertices[b], square.vertices[c]};
  std::size_t corner = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto diagonal = [&](std::size_t i) { return (p[(i + 1) % 3] - p[(i + 2) % 3]).norm(); };
    if (diagonal(k) > diagonal(corner)) corner = k;
  }
  const Vector3 along = p[(corner + 1) % 3] - p[corner];
  axes_ << along.normalized().transpose(), plane.normal.cross(along.normalized()).transpose(), plane.normal.transpose();
  middle_ = 0.5 * (p[(corner + 1) % 3] + p[(corner + 2) % 3]);
  half_ = 0.5 * along.norm();
  if (triangles != nullptr) {
    triangles_ = *triangles;
    Vector3 low = triangles_.vertices.front(), high = low;
    for (const Vector3& v : triangles_.vertices) {
      low = low.cwiseMin(v);
      high = high.cwiseMax(v);
    }
    centre_ = 0.5 * (low + high);
    radius_ = 0.5 * (high - low).norm();
    return;
  }
  const SurfaceKind& kind = kind_of(target);
  const auto extents = kind.extents == nullptr ? std::nullopt : kind.extents(target);
  if (!extents || !extents->allFinite() || kind.distance == nullptr) return;
  shape_ = signed_distance(target);
  centre_ = location_of(target);
  radius_ = 0.5 * extents->norm();
}

/// [m] Distance from the middle, along either edge, of the farthest point of the triangles below the plane.
double CastingSquare::reach_of_triangles(const Pose& X_CT) const {
  double reach = 0.0;
  const auto add = [&](const Vector3& p) { reach = std::max({reach, std::abs(p.x()), std::abs(p.y())}); };
  const double deep = -square_rounding * half_;
  for (const Triangle& corners : triangles_.triangles) {
    for (std::size_t k = 0; k < 3; ++k) {
      const Vector3 p = in_square(X_CT * triangles_.vertices[corners[k]]);
      const Vector3 q = in_square(X_CT * triangles_.vertices[corners[(k + 1) % 3]]);
      if (p.z() < deep) add(p);
      if ((p.z() < deep) != (q.z() < deep)) add(p + (deep - p.z()) / (q.z() - p.z()) * (q - p));
    }
  }
  return reach;
}

/// [m] The same, bounded above, if the shape covers a point of the rim or its middle lies outside; else 0.
double CastingSquare::reach_of_shape(const Pose& X_CT) const {
  const Pose X_TC = X_CT.inverse();
  const auto gap = [&](double x, double y) {
    return shape_->closest(X_TC * (middle_ + axes_.transpose() * Vector3(x, y, 0.0))).gap;
  };
  const Vector3 centre = in_square(X_CT * centre_);
  const double from_middle = std::max(std::abs(centre.x()), std::abs(centre.y()));
  const double deep = -square_rounding * half_;
  bool covers = from_middle > half_ && gap(centre.x(), centre.y()) < deep;
  for (int edge = 0; edge < 4 && !covers; ++edge) {
    const double side = edge % 2 == 0 ? half_ : -half_;
    double t = -half_;
    for (int i = 0; i < max_rim_steps && t <= half_ && !covers; ++i) {
      const double there = edge < 2 ? gap(side, t) : gap(t, side);
      covers = there < deep;
      t += std::max(there, -deep);
    }
  }
  return covers ? from_middle + radius_ : 0.0;
}

void CastingSquare::check(const Pose& X_CT) const {
  const Vector3 centre = in_square(X_CT * centre_);
  // No part of the ball around T is below the plane beyond the square.
  if (radius_ == 0.0 || centre.z() > radius_) return;
  if (std::max(std::abs(centre.x()), std::abs(centre.y())) + radius_ <= half_) return;
  const double reach = shape_ ? reach_of_shape(X_CT) : reach_of_triangles(X_CT);
  if (reach <= half_ * (1.0 + square_rounding)) return;
  // Rounded up to three digits.
  const double digit = std::pow(10.0, std::floor(std::log10(2.0 * reach)) - 2.0);
  throw RecoverableError(
      fmt::format("{}: the partner reaches below the casting plane beyond the square of {:g} m around its point that "
                  "carries springs, where it would have no load; extent: {:g} suffices here, or let the other body "
                  "carry the springs with spring_body",
                  where_, 2.0 * half_, digit * std::ceil(2.0 * reach / digit)),
      where_);
}

}  // namespace heelstrike::fem
