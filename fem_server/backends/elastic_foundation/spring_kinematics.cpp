#include "fem_server/backends/elastic_foundation/spring_kinematics.hpp"

#include <algorithm>
#include <cmath>

namespace heelstrike::fem {

namespace {

using Matrix36 = Eigen::Matrix<double, 3, 6>;

Vector6 line(const Vector3& arm, const Vector3& direction) {
  Vector6 result;
  result.head<3>() = arm.cross(direction);
  result.tail<3>() = direction;
  return result;
}

/// d (arm x direction, direction), where the arm begins at T's origin, which moves with the pose.
Matrix6 line_change(const Vector3& arm, const Vector3& direction, const Matrix36& dpoint, const Matrix36& ddirection) {
  Matrix36 darm = dpoint;
  darm.rightCols<3>() -= Matrix3::Identity();
  Matrix6 result;
  result << skew(arm) * ddirection - skew(direction) * darm, ddirection;
  return result;
}

/// Derivative of a normal of T at a point that moves by `dpoint` in C while T's material there moves by `carried`.
Matrix36 normal_change(const Vector3& normal, const Matrix3& curvature, const Matrix36& dpoint,
                       const Matrix36& carried) {
  Matrix36 result = curvature * (dpoint - carried);
  result.leftCols<3>() -= skew(normal);
  return result;
}

/// line_change of (arm, u) for a ray along n that crosses a plane with a fixed vector u, which rotates by
/// du = - skew(u) - w (n x u)^T: u = w is the direction along which the ray is shortened. @param rate  line(arm, w)
Matrix6 change_over_plane(const Vector3& arm, const Vector3& u, const Vector3& n, const Vector6& rate) {
  const Vector3 m = n.cross(u);
  const Vector3 r = rate.head<3>();
  const Vector3 w = rate.tail<3>();
  const double along = arm.dot(u);
  Matrix6 change;
  for (Eigen::Index j = 0; j < 3; ++j) {
    change.block<3, 1>(0, j) = -m * r[j] - r * m[j] - u * arm[j];
    change(j, j) += along;
    change.block<3, 1>(0, 3 + j) = -m * w[j];
    change.block<3, 1>(3, j) = -w * m[j];
  }
  const Matrix3 rotation_matrix = skew(u);
  change.topRightCorner<3, 3>() += rotation_matrix;
  change.bottomLeftCorner<3, 3>() -= rotation_matrix;
  change.bottomRightCorner<3, 3>().setZero();
  return change;
}

/// Line of compression of a spring: its contact point, relative to T's origin, and w.
struct Compressed {
  Vector3 arm, w;
  Compressed(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT) {
    const Vector3& g = spring_contact.target_point.normal;
    arm = spring.point - p_CT;
    w = g;
    if (!spring_contact.by_ray) return;
    arm += spring_contact.target_point.gap * spring.normal;
    w *= -1.0 / g.dot(spring.normal);
  }
};

/// Share g of a ray that counts, with its derivatives by r: 1 from r = 1 on, 0 up to r = 1/2, a cubic between them with
/// no slope at its ends.
struct RayShare {
  double g = 1.0, by_r = 0.0, by_rr = 0.0;
  explicit RayShare(double r) {
    const double t = 2.0 * r - 1.0;
    if (t >= 1.0) return;
    g = t > 0.0 ? t * t * (3.0 - 2.0 * t) : 0.0;
    by_r = t > 0.0 ? 12.0 * t * (1.0 - t) : 0.0;
    by_rr = t > 0.0 ? 24.0 * (1.0 - 2.0 * t) : 0.0;
  }
};

/// Compression f = s g(r) of a ray s, with its partial derivatives. r = max_ray_ratio k / s, where x = k is the
/// shortest distance, or r = max_ray_ratio x with the cosine x = SpringContact::facing.
struct Shortened {
  double value, by_s, by_x, by_ss, by_sx, by_xx;
  explicit Shortened(const SpringContact& spring_contact) {
    const double s = -spring_contact.target_point.gap;
    if (spring_contact.facing) {
      by_cosine(s, *spring_contact.facing);
    } else {
      by_distances(s, -spring_contact.shortest->gap);
    }
  }

 private:
  void by_distances(double s, double k) {
    const double r = max_ray_ratio * k / s;
    const RayShare share(r);
    value = s * share.g;
    by_s = share.g - r * share.by_r;
    by_x = max_ray_ratio * share.by_r;
    by_ss = r * r * share.by_rr / s;
    by_sx = -max_ray_ratio * r * share.by_rr / s;
    by_xx = max_ray_ratio * max_ray_ratio * share.by_rr / s;
  }
  void by_cosine(double s, double c) {
    const RayShare share(max_ray_ratio * c);
    value = s * share.g;
    by_s = share.g;
    by_x = max_ray_ratio * s * share.by_r;
    by_ss = 0.0;
    by_sx = max_ray_ratio * share.by_r;
    by_xx = max_ray_ratio * max_ray_ratio * s * share.by_rr;
  }
};

/// d x / d X of the x of Shortened.
Vector6 shortening_rate(const Spring& spring, const SpringContact& spring_contact, const Vector3& arm) {
  if (!spring_contact.facing) return line(arm, spring_contact.shortest->normal);
  Vector6 rate = Vector6::Zero();
  rate.head<3>() = spring.normal.cross(spring_contact.shortest->normal);
  return rate;
}

/// Compression before any correction to the midsurface.
struct Compression {
  double d;
  Vector6 rate;
};

Compression compression(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT) {
  const Compressed at(spring, spring_contact, p_CT);
  if (!spring_contact.shortest) return {.d = -spring_contact.target_point.gap, .rate = line(at.arm, at.w)};
  const Shortened f(spring_contact);
  return {.d = f.value,
          .rate = f.by_s * line(at.arm, at.w) + f.by_x * shortening_rate(spring, spring_contact, spring.point - p_CT)};
}

/// d rate / d X of a shortened ray. @param change  the same for the full ray
Matrix6 differentiate_shortened_ray(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT,
                                    const Matrix6& change) {
  const Compressed at(spring, spring_contact, p_CT);
  const Vector3& normal = spring_contact.shortest->normal;
  const Shortened f(spring_contact);
  const Vector3 arm = spring.point - p_CT;
  const Vector6 by_ray = line(at.arm, at.w);
  const Vector6 by_x = shortening_rate(spring, spring_contact, arm);
  Matrix36 carried;
  carried << -skew(arm), Matrix3::Identity();
  const Matrix36 rotation_matrix = normal_change(normal, spring_contact.shortest->curvature, Matrix36::Zero(), carried);
  Matrix6 dx = Matrix6::Zero();
  if (spring_contact.facing) {
    dx.topLeftCorner<3, 3>() = -skew(spring.normal) * skew(normal);
  } else {
    dx = line_change(arm, normal, Matrix36::Zero(), rotation_matrix);
  }
  return f.by_s * change + f.by_x * dx + f.by_ss * by_ray * by_ray.transpose() + f.by_xx * by_x * by_x.transpose() +
         f.by_sx * (by_ray * by_x.transpose() + by_x * by_ray.transpose());
}

/// Direction of the bisector of the normals, and the factor of the compression along it.
struct Midsurface {
  double cosine, half;  ///< cosine of the angle between the normals, and of half this angle
  double factor;
  Vector3 m;
  Midsurface(const Spring& spring, const SpringContact& spring_contact) {
    const Vector3& g = spring_contact.target_point.smooth_normal;
    cosine = -spring.normal.dot(g);
    half = std::sqrt(0.5 * (1.0 + cosine));
    factor = (spring_contact.by_ray ? cosine : 1.0) / half;
    m = (spring.normal - g) / (2.0 * half);
  }
};

SpringKinematicsDerivatives midsurface_slopes(const Spring& spring, const SpringContact& spring_contact,
                                              const Vector3& p_CT, const Compression& compressed,
                                              const Matrix36& dsmooth) {
  const Midsurface mid(spring, spring_contact);
  const Vector6 dcosine = -(spring.normal.transpose() * dsmooth).transpose();
  Vector6 dfactor = -mid.factor / mid.half * dcosine / (4.0 * mid.half);
  if (spring_contact.by_ray) dfactor += dcosine / mid.half;
  const Matrix36 dm = -(Matrix3::Identity() - mid.m * mid.m.transpose()) * dsmooth / (2.0 * mid.half);
  return {.dd = mid.factor * compressed.rate + compressed.d * dfactor,
          .dwrench = line_change(spring.point - p_CT, -mid.m, Matrix36::Zero(), -dm)};
}

}  // namespace

void evaluate_spring_kinematics(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT,
                                SpringKinematics& motion) {
  const Compression compressed = compression(spring, spring_contact, p_CT);
  motion.d = compressed.d;
  motion.rate = compressed.rate;
  if (spring_contact.direction == ForceDirection::energy) {
    motion.wrench = motion.rate;
  } else if (spring_contact.direction == ForceDirection::normal) {
    motion.wrench = line(spring.point - p_CT, -spring.normal);
  } else {
    const Midsurface mid(spring, spring_contact);
    motion.d *= mid.factor;
    motion.wrench = line(spring.point - p_CT, -mid.m);
  }
}

void differentiate_spring_kinematics(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT,
                                     SpringKinematicsDerivatives& slopes, Matrix6* drate) {
  const auto& [target_point, by_ray, direction, flat, shortest, facing_cosine] = spring_contact;
  const Vector3& n = spring.normal;
  const auto [arm, w] = Compressed(spring, spring_contact, p_CT);
  const Compression compressed = compression(spring, spring_contact, p_CT);
  slopes.dd = compressed.rate;
  if (direction == ForceDirection::normal) {
    // The spring is fixed; T's origin moves.
    slopes.dwrench.setZero();
    slopes.dwrench.topRightCorner<3, 3>() = skew(-n);
    if (drate == nullptr) return;
  }
  Matrix6 change;
  if (by_ray && direction != ForceDirection::midsurface && target_point.curvature.isZero(0.0)) {
    change = change_over_plane(arm, w, n, line(arm, w));
  } else {
    Matrix36 carried;
    carried << -skew(arm), Matrix3::Identity();
    Matrix36 dy = Matrix36::Zero();
    if (by_ray) dy = -n * line(arm, w).transpose();
    Matrix36 dw = normal_change(target_point.normal, target_point.curvature, dy, carried);
    if (by_ray) {
      const double facing = target_point.normal.dot(n);
      dw = (-dw + target_point.normal * (n.transpose() * dw) / facing).eval() / facing;
    }
    change = line_change(arm, w, dy, dw);
    if (direction == ForceDirection::midsurface) {
      slopes = midsurface_slopes(spring, spring_contact, p_CT, compressed,
                                 normal_change(target_point.smooth_normal, target_point.smooth_curvature, dy, carried));
    }
  }
  if (shortest) change = differentiate_shortened_ray(spring, spring_contact, p_CT, change);
  if (direction == ForceDirection::energy) slopes.dwrench = change;
  if (drate != nullptr) *drate = change;
}

// change_over_plane with u = w, summed; terms linear in m = n x w are summed separately.
Matrix6 WrenchRotationSum::sum() const {
  Matrix6 sum = Matrix6::Zero();
  const Matrix3 rotated = rotated_.topRows<3>();
  sum.topLeftCorner<3, 3>() = carried_.trace() * Matrix3::Identity() - rotated - rotated.transpose() - carried_;
  sum.bottomLeftCorner<3, 3>() = -rotated_.bottomRows<3>() - skew(force_);
  sum.topRightCorner<3, 3>() = sum.bottomLeftCorner<3, 3>().transpose();
  return sum;
}

// Motion of the contact point in T: for a ray - n (w . v) - v; for the nearest point - v, of which the gradient takes
// only the part tangential to T.
LayerMotion layer_motion(const Spring& spring, const SpringContact& spring_contact, const LayerPoint& place,
                         const Vector3& p_CT, Matrix6* ddh) {
  const Vector3& e = place.gradient;
  const auto [arm, w] = Compressed(spring, spring_contact, p_CT);
  if (!spring_contact.by_ray) {
    if (ddh != nullptr) {
      Matrix36 dgradient = Matrix36::Zero();
      dgradient.leftCols<3>() = -skew(e);
      *ddh = -line_change(arm, e, Matrix36::Zero(), dgradient);
    }
    return {.h = place.thickness, .dh = -line(arm, e)};
  }
  const Vector3 u = e + e.dot(spring.normal) * w;
  if (ddh != nullptr) *ddh = -change_over_plane(arm, u, spring.normal, line(arm, w));
  return {.h = place.thickness, .dh = -line(arm, u)};
}

TargetPoint rotated(TargetPoint point, const Matrix3& R_CT) {
  point.normal = R_CT * point.normal;
  point.smooth_normal = R_CT * point.smooth_normal;
  if (!point.curvature.isZero(0.0)) point.curvature = R_CT * point.curvature * R_CT.transpose();
  if (!point.smooth_curvature.isZero(0.0)) point.smooth_curvature = R_CT * point.smooth_curvature * R_CT.transpose();
  return point;
}

}  // namespace heelstrike::fem
