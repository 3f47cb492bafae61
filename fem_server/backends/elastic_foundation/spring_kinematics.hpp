/// How the compression of one spring and the direction of its force follow the pose of the surface that it meets.
///
/// C is the body that carries the springs, T the one that they meet. Poses, twists and wrenches are those of T in C,
/// about T's origin, expressed in C.
#pragma once

#include <optional>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/casting_surface.hpp"
#include "fem_server/backends/elastic_foundation/target_layer.hpp"
#include "fem_server/backends/elastic_foundation/target_surface.hpp"

namespace heelstrike::fem {

/// Along what the spring pushes (docs/theory/elastic_foundation.md, section 3).
enum class ForceDirection {
  energy,     ///< derivative of the stored energy: along the normal of T, longer by 1 / cos for springs along a ray
  normal,     ///< normal of C, as in Smith's model
  midsurface  ///< bisector of both normals, with the compression corrected to it, as in Bei and Fregly's
};

struct SpringKinematics {
  Vector6 wrench;  ///< on C, of unit force
  Vector6 rate;    ///< compression rate = rate . V, before the correction to the midsurface
  double d;        ///< [m] compression, < 0 = gap
};

/// How that follows the pose.
struct SpringKinematicsDerivatives {
  Vector6 dd;       ///< d d / d X
  Matrix6 dwrench;  ///< d wrench / d X
};

/// [-] A ray that is more than so many times as long as the way to T's nearest point leads along T rather than out of
/// it: that of a box's side wall, whose lower edge is pressed into a plane, meets the plane anywhere. Strains of a
/// tenth, to which layers of small strain are loaded, end at the base of the layer when they are lengthened by that
/// much.
inline constexpr double max_ray_ratio = 10.0;

/// Where a spring meets T.
struct SpringContact {
  TargetPoint met;      ///< in C
  bool by_ray = false;  ///< `met` is a crossing of the spring's normal, else the nearest point
  ForceDirection direction = ForceDirection::energy;
  bool flat = false;  ///< by a ray, along `energy`, without curvature: WrenchRotationSum has how the wrench turns
  /// Of a ray longer than max_ray_ratio: T's nearest point, in C, on the same side of T as `met`. The compression is then
  /// shorter than the ray and vanishes as it leads along T (docs/theory/elastic_foundation.md, section 2).
  std::optional<TargetPoint> shortest{};
  /// Set where T at its nearest point stands across the spring more than the ray is long: spring_facing_factor(), of which the
  /// compression is a function then instead of the way to that point. @pre shortest; T is flat at both points
  std::optional<double> facing{};

  [[nodiscard]] bool is_unloaded() const { return facing && *facing <= 0.0; }
};

/// [-] How much T faces a spring: the cosine c between the spring and T at its nearest point, plus 0.4 c_met^4 where
/// the ray meets it. What the ray meets at an angle of less than 45 degrees faces the spring, whatever lies beside it
/// (0.4 / 4 = 1 / max_ray_ratio); what it meets at a grazing angle does not because of that.
[[nodiscard]] double spring_facing_factor(const Spring& spring, const TargetPoint& met, const TargetPoint& nearest);

/// @param motion  is written, all of it
/// @pre meeting.met.normal . spring.normal < 0 when by_ray
void evaluate_spring_kinematics(const Spring& spring, const SpringContact& meeting, const Vector3& p_CT, SpringKinematics& motion);

/// @param slopes  is written, all of it
/// @param drate   gets d rate / d X; null = not wanted
/// @pre as above
void differentiate_spring_kinematics(const Spring& spring, const SpringContact& meeting, const Vector3& p_CT, SpringKinematicsDerivatives& slopes,
                   Matrix6* drate);

/// Sum of force times d wrench / d X over springs whose meeting is flat: 30 numbers in place of 36 of each.
class WrenchRotationSum {
 public:
  void add(const Spring& spring, const SpringKinematics& motion, const Vector3& p_CT, double force) {
    const Vector3 w = motion.rate.tail<3>();
    const Vector3 turn = force * spring.normal.cross(w);
    const Vector3 arm = spring.point - p_CT - motion.d * spring.normal;
    for (Eigen::Index j = 0; j < 3; ++j) turned_.col(j) += turn[j] * motion.rate;
    carried_ += force * w * arm.transpose();
    force_ += force * w;
  }
  [[nodiscard]] Matrix6 sum() const;

 private:
  Eigen::Matrix<double, 6, 3> turned_ = Eigen::Matrix<double, 6, 3>::Zero();
  Matrix3 carried_ = Matrix3::Zero();
  Vector3 force_ = Vector3::Zero();
};

/// How thick T's layer is where the spring meets it.
struct LayerMotion {
  double h = 0.0;                ///< [m]
  Vector6 dh = Vector6::Zero();  ///< d h / d X
};

/// @param place  of T's layer where the spring meets T; its gradient in C
/// @param ddh    gets d dh / d X; null = not wanted
[[nodiscard]] LayerMotion layer_motion(const Spring& spring, const SpringContact& meeting, const LayerPoint& place,
                                       const Vector3& p_CT, Matrix6* ddh);

/// The answer of a query in T turned into C.
[[nodiscard]] TargetPoint turned(TargetPoint point, const Matrix3& R_CT);

}  // namespace heelstrike::fem
