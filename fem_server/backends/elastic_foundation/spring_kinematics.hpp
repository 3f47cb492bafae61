/// Kinematics of one spring: its compression and force direction as functions of the pose of the target surface.
///
/// C is the casting body, which carries the springs, T the target. Poses, twists and wrenches are those of T in C,
/// about T's origin, expressed in C.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/casting_surface.hpp"
#include "fem_server/surfaces/target_surface.hpp"

namespace heelstrike::fem {

/// Direction of the spring force (docs/theory/elastic_foundation.md, section 3).
enum class ForceDirection {
  energy,     ///< derivative of the stored energy: along the normal of T, times 1 / cos for springs along a ray
  normal,     ///< normal of C, as in Smith's model
  midsurface  ///< bisector of both normals, with the compression corrected accordingly, as in Bei and Fregly's
};

struct SpringKinematics {
  Vector6 wrench;  ///< on C, of unit force
  Vector6 rate;    ///< compression rate = rate . V, before the correction to the midsurface
  double d;        ///< [m] compression, < 0 = gap
};

/// Derivatives of the spring kinematics by the pose.
struct SpringKinematicsDerivatives {
  Vector6 dd;       ///< d d / d X
  Matrix6 dwrench;  ///< d wrench / d X
};

/// [-] Maximum ratio of the length of a ray to the distance of T's nearest point. A longer ray runs along T rather than
/// out of it: the ray of a box's side wall, whose lower edge is pressed into a plane, crosses the plane anywhere. The
/// maximum strain of layers with small strain is about a tenth; increased by this factor, the ray ends at the base of
/// the layer.
inline constexpr double max_ray_ratio = 10.0;

/// [-] Cosine of 45 degrees: a face of T within this angle of a spring's normal opposes it.
inline constexpr double min_opposing_cosine = 0.5 * std::numbers::sqrt2;

/// Contact of a spring with T.
struct SpringContact {
  TargetPoint target_point;  ///< in C
  bool by_ray = false;       ///< `target_point` is a crossing of the spring's normal, otherwise the nearest point
  ForceDirection direction = ForceDirection::energy;
  bool flat = false;  ///< by a ray, along `energy`, without curvature: WrenchRotationSum contains the rotation of the
                      ///< wrench
  /// For a ray longer than max_ray_ratio: T's nearest point, in C, on the same side of T as `target_point`. The
  /// compression is then shorter than the ray and vanishes as the ray becomes tangential to T
  /// (docs/theory/elastic_foundation.md, section 2).
  std::optional<TargetPoint> shortest{};
  /// Set where T's flat face at its nearest point hardly opposes the spring: the cosine between both, which replaces
  /// the distance of that point in the compression: the ray may leave T through another face. @pre shortest
  std::optional<double> facing{};

  /// [-] T's depth below the spring, perpendicular to T, over the compression d [m] > 0 of the spring.
  [[nodiscard]] double cosine(const Vector3& spring_normal, double d) const {
    if (shortest) return std::min(1.0, std::abs(shortest->gap) / d);
    return by_ray ? -target_point.normal.dot(spring_normal) : 1.0;
  }
  /// True if nothing of the ray counts (docs/theory/elastic_foundation.md, equation 4): r <= 1/2.
  [[nodiscard]] bool is_unloaded() const {
    if (facing) return 2.0 * max_ray_ratio * *facing <= 1.0;
    return shortest && 2.0 * max_ray_ratio * std::abs(shortest->gap) <= std::abs(target_point.gap);
  }
};

/// @param motion  output, completely overwritten
/// @pre spring_contact.target_point.normal . spring.normal < 0 when by_ray
void evaluate_spring_kinematics(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT,
                                SpringKinematics& motion);

/// @param slopes  output, completely overwritten
/// @param drate   gets d rate / d X; null = not requested
/// @pre as above
void differentiate_spring_kinematics(const Spring& spring, const SpringContact& spring_contact, const Vector3& p_CT,
                                     SpringKinematicsDerivatives& slopes, Matrix6* drate);

/// Sum of force times d wrench / d X over springs with flat contact: 30 numbers instead of 36 for each spring.
class WrenchRotationSum {
 public:
  void add(const Spring& spring, const SpringKinematics& motion, const Vector3& p_CT, double force) {
    const Vector3 w = motion.rate.tail<3>();
    const Vector3 change = force * spring.normal.cross(w);
    const Vector3 arm = spring.point - p_CT - motion.d * spring.normal;
    for (Eigen::Index j = 0; j < 3; ++j) rotated_.col(j) += change[j] * motion.rate;
    carried_ += force * w * arm.transpose();
    force_ += force * w;
  }
  [[nodiscard]] Matrix6 sum() const;

 private:
  Eigen::Matrix<double, 6, 3> rotated_ = Eigen::Matrix<double, 6, 3>::Zero();
  Matrix3 carried_ = Matrix3::Zero();
  Vector3 force_ = Vector3::Zero();
};

/// Thickness of T's layer at the contact of a spring.
struct LayerMotion {
  double h = 0.0;                ///< [m]
  Vector6 dh = Vector6::Zero();  ///< d h / d X
};

/// @param place  of T's layer at the contact of the spring; its gradient in C
/// @param ddh    gets d dh / d X; null = not requested
[[nodiscard]] LayerMotion layer_motion(const Spring& spring, const SpringContact& spring_contact,
                                       const LayerPoint& place, const Vector3& p_CT, Matrix6* ddh);

/// Result of a query in T, rotated to C.
[[nodiscard]] TargetPoint rotated(TargetPoint point, const Matrix3& R_CT);

}  // namespace heelstrike::fem
