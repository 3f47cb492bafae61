#include "fem_server/backends/elastic_foundation/rim_load.hpp"

#include <unsupported/Eigen/AutoDiff>

#include <algorithm>
#include <cstddef>

#include "fem_server/backends/elastic_foundation/spring_kinematics.hpp"
#include "fem_server/geometry/triangle_clipping.hpp"

namespace heelstrike::fem {

namespace {

/// A number with its derivatives by the pose, and one with the second derivatives, too.
using Slope = Eigen::AutoDiffScalar<Vector6>;
using Curve = Eigen::AutoDiffScalar<Eigen::Matrix<Slope, 6, 1>>;

/// [-] of the triangle's area: faces are enlarged by this, so that edges of both that coincide but for rounding are not
/// intersected: their intersection moves along them infinitely fast as one of them rotates.
constexpr double coincident = 1e-11;

double value_of(const Slope& number) {
  return number.value();
}
double value_of(const Curve& number) {
  return number.value().value();
}

Vector6 slope_of(const Slope& number) {
  return number.derivatives();
}
Vector6 slope_of(const Curve& number) {
  Vector6 slope;
  for (Eigen::Index i = 0; i < 6; ++i) slope[i] = number.derivatives()[i].value();
  return slope;
}

Matrix6 curvature_of(const Slope& /*number*/) {
  return Matrix6::Zero();
}
Matrix6 curvature_of(const Curve& number) {
  Matrix6 curvature;
  for (Eigen::Index i = 0; i < 6; ++i) curvature.row(i) = number.derivatives()[i].derivatives().transpose();
  return curvature;
}

void set(Slope& number, double value, const Vector6& slope, const Matrix6& /*curvature*/) {
  number = Slope(value, slope);
}
void set(Curve& number, double value, const Vector6& slope, const Matrix6& curvature) {
  number.value() = Slope(value, slope);
  for (Eigen::Index i = 0; i < 6; ++i) number.derivatives()[i] = Slope(slope[i], curvature.col(i));
}

/// Component along `axis` of a point of T in C. The pose changes by a translation and the exponential of a rotation
/// about T's origin. @param arm  [m] of the point from T's origin
template <class Value>
Value moving(double value, const Vector3& axis, const Vector3& arm) {
  Vector6 slope;
  slope << arm.cross(axis), axis;
  Matrix6 curvature = Matrix6::Zero();
  curvature.topLeftCorner<3, 3>() = 0.5 * (arm * axis.transpose() + axis * arm.transpose());
  curvature.topLeftCorner<3, 3>().diagonal().array() -= arm.dot(axis);
  Value number;
  set(number, value, slope, curvature);
  return number;
}

template <class Value>
Value fixed(double value) {
  Value number;
  set(number, value, Vector6::Zero(), Matrix6::Zero());
  return number;
}

/// [m] of the corners of a triangle along its normal below the plane of a face.
template <class Value>
std::array<Value, 3> depths_below(const LoadedTriangle& triangle, const std::array<Vector3, 3>& face,
                                  const Vector3& p_CT) {
  using Point = Eigen::Matrix<Value, 3, 1>;
  const auto of_face = [&](const Vector3& p) {
    Point moved;
    for (Eigen::Index i = 0; i < 3; ++i) moved[i] = moving<Value>(p[i], Vector3::Unit(i), p - p_CT);
    return moved;
  };
  const std::array<Point, 3> p{of_face(face[0]), of_face(face[1]), of_face(face[2])};
  const Point a = p[1] - p[0], b = p[2] - p[0];
  const std::array<Value, 3> across{Value(a[1] * b[2] - a[2] * b[1]), Value(a[2] * b[0] - a[0] * b[2]),
                                    Value(a[0] * b[1] - a[1] * b[0])};
  const auto along = [&](const auto& v) -> Value { return across[0] * v[0] + across[1] * v[1] + across[2] * v[2]; };
  const Value slope = along(triangle.normal);
  std::array<Value, 3> depths;
  for (std::size_t k = 0; k < 3; ++k) {
    Point arm;
    for (Eigen::Index i = 0; i < 3; ++i) arm[i] = fixed<Value>(triangle.corners[k][i]) - p[0][i];
    depths[k] = along(arm) / slope;
  }
  return depths;
}

}  // namespace

RimIntegral::RimIntegral(const BedLaw& law, const LoadedTriangle& triangle, const Vector3& p_CT, bool tangents)
    : law_(law), triangle_(triangle), p_CT_(p_CT), tangents_(tangents) {
  const auto& [a, b, c] = triangle.corners;
  x_ = (b - a).normalized();
  y_ = triangle.normal.cross(x_);
  Eigen::Matrix2d edges;
  edges << x_.dot(b - a), x_.dot(c - a), y_.dot(b - a), y_.dot(c - a);
  shares_ = edges.inverse();
}

/// Notes a depth. false = it compresses the layers fully.
bool RimIntegral::carries(double depth) {
  const double in_layer = law_.depth_in_layer(depth, opposes_);
  sum_.deepest = std::max(sum_.deepest, in_layer);
  if (in_layer >= law_.thickness(triangle_.h)) return false;
  if (depth > 0.0) sum_.peak = std::max(sum_.peak, law_.pressure(depth, triangle_.h));
  return true;
}

/// Energy of a part, which is linear in its area, to second order in the depths at its corners.
/// @param weights      barycentric coordinates of the corners in the triangle
/// @param of_triangle  [m] depths at its corners
template <class Value>
void RimIntegral::add_part(const std::array<Eigen::Matrix<Value, 3, 1>, 3>& weights,
                           const std::array<Value, 3>& of_triangle, bool own_plane) {
  Eigen::Matrix<Value, 3, 1> change;
  Vector3 d;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto c = static_cast<Eigen::Index>(k);
    change[c] = weights[k][0] * of_triangle[0] + weights[k][1] * of_triangle[1] + weights[k][2] * of_triangle[2];
    d[c] = value_of(change[c]);
    change[c] = change[c] - d[c];
  }
  const Value share = (weights[1][1] - weights[0][1]) * (weights[2][2] - weights[0][2]) -
                      (weights[1][2] - weights[0][2]) * (weights[2][1] - weights[0][1]);
  if (!(value_of(share) > 0.0) || !carries(d.maxCoeff())) return;
  const TriangleLoad of_part = triangle_load(law_, triangle_.area, triangle_.h, d);
  sum_.load.area += value_of(share) * of_part.area;
  std::array<Value, 3> forces;
  Value energy = fixed<Value>(of_part.energy);
  for (std::size_t k = 0; k < 3; ++k) {
    const auto c = static_cast<Eigen::Index>(k);
    Value by_depths = fixed<Value>(0.0);
    for (Eigen::Index j = 0; j < 3; ++j) by_depths = by_depths + change[j] * of_part.slopes(c, j);
    forces[k] = (by_depths + of_part.forces[c]) * share;
    energy = energy + change[c] * of_part.forces[c] + change[c] * by_depths * 0.5;
  }
  energy = energy * share;
  sum_.load.energy += value_of(energy);
  sum_.wrench += slope_of(energy);
  sum_.dwrench += curvature_of(energy);
  if (own_plane) return;
  for (Eigen::Index c = 0; c < 3; ++c) {
    const Value force = weights[0][c] * forces[0] + weights[1][c] * forces[1] + weights[2][c] * forces[2];
    const Vector6 slope = slope_of(force);
    sum_.load.forces[c] += value_of(force);
    sum_.dforces.row(c) += slope.transpose();
    sum_.wrench -= value_of(force) * triangle_.dd.row(c).transpose();
    sum_.dwrench -= triangle_.dd.row(c).transpose() * slope.transpose();
  }
}

template <class Value>
void RimIntegral::add_common(const std::array<Vector3, 3>& face, bool own_plane) {
  using Point = Eigen::Matrix<Value, 2, 1>;
  const Vector3& a = triangle_.corners[0];
  const auto own = [&](const Vector3& p) { return Point(fixed<Value>(x_.dot(p - a)), fixed<Value>(y_.dot(p - a))); };
  const auto of_face = [&](const Vector3& p) {
    return Point(moving<Value>(x_.dot(p - a), x_, p - p_CT_), moving<Value>(y_.dot(p - a), y_, p - p_CT_));
  };
  const auto common =
      common_part<Value>({own(triangle_.corners[0]), own(triangle_.corners[1]), own(triangle_.corners[2])},
                         {of_face(face[0]), of_face(face[2]), of_face(face[1])}, coincident * triangle_.area);
  const auto corners = common.corners();
  const auto weights = [&](const Point& p) {
    const Value first = p.x() * shares_(0, 0) + p.y() * shares_(0, 1);
    const Value second = p.x() * shares_(1, 0) + p.y() * shares_(1, 1);
    return Eigen::Matrix<Value, 3, 1>(Value(fixed<Value>(1.0) - first - second), first, second);
  };
  std::array<Value, 3> of_triangle;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto c = static_cast<Eigen::Index>(k);
    set(of_triangle[k], triangle_.d[c], triangle_.dd.row(c).transpose(), Matrix6::Zero());
  }
  if (own_plane) of_triangle = depths_below<Value>(triangle_, face, p_CT_);
  for (std::size_t k = 2; k < corners.size(); ++k)
    add_part<Value>({weights(corners[0]), weights(corners[k - 1]), weights(corners[k])}, of_triangle, own_plane);
}

/// A face that covers all of the triangle.
void RimIntegral::add_whole() {
  if (!carries(triangle_.d.maxCoeff())) return;
  const TriangleLoad whole = triangle_load(law_, triangle_.area, triangle_.h, triangle_.d);
  sum_.load.energy += whole.energy;
  sum_.load.area += whole.area;
  sum_.load.forces += whole.forces;
  sum_.dforces += whole.slopes * triangle_.dd;
}

std::optional<Vector3> RimIntegral::point_below(const std::array<Vector3, 3>& face) const {
  const Vector3 across = (face[1] - face[0]).cross(face[2] - face[0]);
  const double slope = across.dot(triangle_.normal);
  if (!(-slope * max_ray_ratio > across.norm())) return std::nullopt;
  const Vector3& a = triangle_.corners[0];
  const auto in_plane = [&](const Vector3& p) { return Eigen::Vector2d(x_.dot(p - a), y_.dot(p - a)); };
  const auto common = common_part(
      PlaneTriangle{in_plane(triangle_.corners[0]), in_plane(triangle_.corners[1]), in_plane(triangle_.corners[2])},
      PlaneTriangle{in_plane(face[0]), in_plane(face[2]), in_plane(face[1])}, coincident * triangle_.area);
  Vector3 sum = Vector3::Zero();
  int n = 0;
  const auto corners = common.corners();
  for (std::size_t k = 0; k < corners.size(); ++k) {
    const auto at = [&](std::size_t i) { return Vector3(a + corners[i].x() * x_ + corners[i].y() * y_); };
    const auto depth = [&](const Vector3& p) { return across.dot(p - face[0]) / slope; };
    const Vector3 p = at(k), q = at((k + 1) % corners.size());
    const double d = depth(p), next = depth(q);
    if (d > 0.0) sum += p, ++n;
    if ((d > 0.0) != (next > 0.0)) sum += p + d / (d - next) * (q - p), ++n;
  }
  if (n < 3) return std::nullopt;
  return sum / n;
}

void RimIntegral::add(const std::array<Vector3, 3>& face, bool own_plane) {
  const Vector3 across = (face[1] - face[0]).cross(face[2] - face[0]);
  opposes_ = -across.dot(triangle_.normal) / across.norm();
  if (!(opposes_ * max_ray_ratio > 1.0)) return;
  own_plane = own_plane || opposes_ < min_opposing_cosine;
  const Vector3& a = triangle_.corners[0];
  const auto in_plane = [&](const Vector3& p) { return Eigen::Vector2d(x_.dot(p - a), y_.dot(p - a)); };
  const PlaneTriangle own{in_plane(triangle_.corners[0]), in_plane(triangle_.corners[1]),
                          in_plane(triangle_.corners[2])};
  const PlaneTriangle of_face{in_plane(face[0]), in_plane(face[2]), in_plane(face[1])};
  if (common_part(own, of_face).corners().empty()) return;
  const auto is_inside = [&](const Eigen::Vector2d& p) {
    for (std::size_t k = 0; k < 3; ++k) {
      const Eigen::Vector2d along = of_face[(k + 1) % 3] - of_face[k];
      const Eigen::Vector2d arm = p - of_face[k];
      if (along.x() * arm.y() - along.y() * arm.x() < 0.0) return false;
    }
    return true;
  };
  if (!own_plane && std::ranges::all_of(own, is_inside)) return add_whole();
  if (tangents_) {
    add_common<Curve>(face, own_plane);
  } else {
    add_common<Slope>(face, own_plane);
  }
}

}  // namespace heelstrike::fem
