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

/// Compression and direction along the bisector of the normals.
void correct_to_midsurface(const Spring& spring, const TargetPoint& met, bool by_ray, const Matrix36& dsmooth,
                           const Vector3& p_CT, SpringMotion& motion) {
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
  motion.dwrench = line_change(arm, -m, Matrix36::Zero(), -dm);
}

}  // namespace

SpringMotion spring_motion(const Spring& spring, const TargetPoint& met, bool by_ray, ForceDirection direction,
                           const Vector3& p_CT) {
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
  Matrix36 carried;
  carried << -skew(arm), Matrix3::Identity();
  Matrix36 dy = Matrix36::Zero();
  if (by_ray) dy = -n * motion.rate.transpose();
  const Matrix36 dg = normal_change(g, met.curvature, dy, carried);
  Matrix36 dw = dg;
  if (by_ray) dw = -dg / facing + g * (n.transpose() * dg) / (facing * facing);
  motion.drate = line_change(arm, w, dy, dw);
  switch (direction) {
    case ForceDirection::energy:
      motion.wrench = motion.rate;
      motion.dwrench = motion.drate;
      break;
    case ForceDirection::normal:
      motion.wrench = line(spring.point - p_CT, -n);
      motion.dwrench = line_change(spring.point - p_CT, -n, Matrix36::Zero(), Matrix36::Zero());
      break;
    case ForceDirection::midsurface:
      correct_to_midsurface(spring, met, by_ray, normal_change(met.smooth_normal, met.smooth_curvature, dy, carried),
                            p_CT, motion);
      break;
  }
  return motion;
}

TargetPoint turned(TargetPoint point, const Matrix3& R_CT) {
  point.normal = R_CT * point.normal;
  point.smooth_normal = R_CT * point.smooth_normal;
  if (!point.curvature.isZero(0.0)) point.curvature = R_CT * point.curvature * R_CT.transpose();
  if (!point.smooth_curvature.isZero(0.0)) point.smooth_curvature = R_CT * point.smooth_curvature * R_CT.transpose();
  return point;
}

}  // namespace heelstrike::fem
