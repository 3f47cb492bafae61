#include "fem_server/backends/elastic_foundation/spring_motion.hpp"

#include <cmath>

namespace heelstrike::fem {

namespace {

using Matrix36 = Eigen::Matrix<double, 3, 6>;

Vector6 line(const Vector3& arm, const Vector3& direction) {
  return (Vector6() << arm.cross(direction), direction).finished();
}

/// d (arm x direction, direction), where the arm begins at T's origin, which moves with the pose.
Matrix6 line_change(const Vector3& arm, const Vector3& direction, const Matrix36& dpoint, const Matrix36& ddirection) {
  Matrix36 darm = dpoint;
  darm.rightCols<3>() -= Matrix3::Identity();
  Matrix6 result;
  result << skew(arm) * ddirection - skew(direction) * darm, ddirection;
  return result;
}

/// Of a normal of T at a point that moves by `dpoint` in C while T's material there moves by `carried`.
Matrix36 normal_change(const Vector3& normal, const Matrix3& curvature, const Matrix36& dpoint,
                       const Matrix36& carried) {
  Matrix36 result = curvature * (dpoint - carried);
  result.leftCols<3>() -= skew(normal);
  return result;
}

/// Of w = - g / facing with a plane of T that turns.
Matrix3 turn_of_ray(const Vector3& n, const Vector3& g, double facing) {
  return skew(g / facing) - g * (n.cross(g) / (facing * facing)).transpose();
}

/// line_change of (arm, w) where a ray meets a plane and w changes by dw when that turns: of T's curvature nothing is
/// left, and most of the products with it.
Matrix6 change_over_plane(const Vector3& arm, const Vector3& w, const Vector3& n, const Matrix3& dw,
                          const Vector6& rate) {
  Matrix6 result = Matrix6::Zero();
  result.topRows<3>() = w.cross(n) * rate.transpose();
  result.topLeftCorner<3, 3>() += skew(arm) * dw;
  result.topRightCorner<3, 3>() += skew(w);
  result.bottomLeftCorner<3, 3>() = dw;
  return result;
}

/// Compression and direction along the bisector of the normals.
void correct_to_midsurface(const Spring& spring, const TargetPoint& met, bool by_ray, const Matrix36& dsmooth,
                           const Vector3& p_CT, SpringMotion& motion, Matrix6* dwrench) {
  const Vector3& n = spring.normal;
  const double cosine = -n.dot(met.smooth_normal);
  const double half = std::sqrt(0.5 * (1.0 + cosine));  // cosine of half the angle
  const Vector6 dcosine = -(n.transpose() * dsmooth).transpose();
  const Vector6 dhalf = dcosine / (4.0 * half);
  const double raw = motion.d;
  const double factor = (by_ray ? cosine : 1.0) / half;
  Vector6 dfactor = -factor / half * dhalf;
  if (by_ray) dfactor += dcosine / half;
  motion.d = factor * raw;
  motion.dd = factor * motion.dd + raw * dfactor;
  const Vector3 m = (n - met.smooth_normal) / (2.0 * half);
  const Matrix36 dm = -(Matrix3::Identity() - m * m.transpose()) * dsmooth / (2.0 * half);
  const Vector3 arm = spring.point - p_CT;
  motion.wrench = line(arm, -m);
  if (dwrench != nullptr) *dwrench = line_change(arm, -m, Matrix36::Zero(), -dm);
}

}  // namespace

SpringMotion spring_motion(const Spring& spring, const SpringMeeting& meeting, const Vector3& p_CT, Matrix6* dwrench,
                           Matrix6* drate) {
  const auto& [met, by_ray, direction] = meeting;
  const Vector3& n = spring.normal;
  const Vector3& g = met.normal;
  SpringMotion motion;
  motion.d = -met.gap;
  const Vector3 y = by_ray ? Vector3(spring.point - motion.d * n) : spring.point;
  const Vector3 arm = y - p_CT;
  const double facing = g.dot(n);
  const Vector3 w = by_ray ? Vector3(-g / facing) : g;
  motion.rate = line(arm, w);
  motion.dd = motion.rate;
  if (direction == ForceDirection::energy) motion.wrench = motion.rate;
  if (direction == ForceDirection::normal) {
    // The spring stays where it is; T's origin moves.
    motion.wrench = line(spring.point - p_CT, -n);
    if (dwrench != nullptr) {
      dwrench->setZero();
      dwrench->topRightCorner<3, 3>() = skew(-n);
    }
  }
  Matrix6* const of_energy = direction == ForceDirection::energy ? dwrench : nullptr;
  const bool of_rate = drate != nullptr || of_energy != nullptr;
  if (!of_rate && direction != ForceDirection::midsurface) return motion;
  const auto put = [&](const Matrix6& change) {
    if (drate != nullptr) *drate = change;
    if (of_energy != nullptr) *of_energy = change;
  };
  if (by_ray && direction != ForceDirection::midsurface && met.curvature.isZero(0.0)) {
    put(change_over_plane(arm, w, n, turn_of_ray(n, g, facing), motion.rate));
    return motion;
  }
  Matrix36 carried;
  carried << -skew(arm), Matrix3::Identity();
  Matrix36 dy = Matrix36::Zero();
  if (by_ray) dy = -n * motion.rate.transpose();
  const Matrix36 dg = normal_change(g, met.curvature, dy, carried);
  if (of_rate) {
    Matrix36 dw = dg;
    if (by_ray) dw = -dg / facing + g * (n.transpose() * dg) / (facing * facing);
    put(line_change(arm, w, dy, dw));
  }
  if (direction == ForceDirection::midsurface) {
    correct_to_midsurface(spring, met, by_ray, normal_change(met.smooth_normal, met.smooth_curvature, dy, carried),
                          p_CT, motion, dwrench);
  }
  return motion;
}

// Of what the place on T moves by in T: for a ray - n (w . v) - v, for the nearest point - v, at whose place the
// gradient lets only the part along T pass.
LayerMotion layer_motion(const Spring& spring, const SpringMeeting& meeting, const LayerPlace& place,
                         const Vector3& p_CT, Matrix6* ddh) {
  const Vector3& n = spring.normal;
  const Vector3& g = meeting.met.normal;
  if (!meeting.by_ray) {
    const Vector3 arm = spring.point - p_CT;
    if (ddh != nullptr) {
      Matrix36 dgradient = Matrix36::Zero();
      dgradient.leftCols<3>() = -skew(place.gradient);
      *ddh = -line_change(arm, place.gradient, Matrix36::Zero(), dgradient);
    }
    return {.h = place.thickness, .dh = -line(arm, place.gradient)};
  }
  const Vector3 arm = spring.point + meeting.met.gap * n - p_CT;
  const double facing = g.dot(n);
  const Vector3 w = -g / facing;
  const double rise = place.gradient.dot(n);
  const Vector3 u = place.gradient + rise * w;
  if (ddh != nullptr) {
    const Vector3& e = place.gradient;
    const Matrix3 du = rise * turn_of_ray(n, g, facing) - skew(e) - w * n.cross(e).transpose();
    *ddh = -change_over_plane(arm, u, n, du, line(arm, w));
  }
  return {.h = place.thickness, .dh = -line(arm, u)};
}

TargetPoint turned(TargetPoint point, const Matrix3& R_CT) {
  point.normal = R_CT * point.normal;
  point.smooth_normal = R_CT * point.smooth_normal;
  if (!point.curvature.isZero(0.0)) point.curvature = R_CT * point.curvature * R_CT.transpose();
  if (!point.smooth_curvature.isZero(0.0)) point.smooth_curvature = R_CT * point.smooth_curvature * R_CT.transpose();
  return point;
}

}  // namespace heelstrike::fem
