/// How the compression of one spring and the direction of its force follow the pose of the surface that it meets.
///
/// C is the body that carries the springs, T the one that they meet. Poses, twists and wrenches are those of T in C,
/// about T's origin, expressed in C.
#pragma once

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

struct SpringMotion {
  double d = 0.0;                    ///< [m] compression, < 0 = gap
  Vector6 wrench = Vector6::Zero();  ///< on C, of unit force
  Vector6 rate = Vector6::Zero();    ///< compression rate = rate . V, before the correction to the midsurface
};

/// How that follows the pose.
struct MotionSlopes {
  Vector6 dd;       ///< d d / d X
  Matrix6 dwrench;  ///< d wrench / d X
};

/// Where a spring meets T.
struct SpringMeeting {
  TargetPoint met;      ///< in C
  bool by_ray = false;  ///< `met` is a crossing of the spring's normal, else the nearest point
  ForceDirection direction = ForceDirection::energy;
};

/// @pre meeting.met.normal . spring.normal < 0 when by_ray
[[nodiscard]] SpringMotion spring_motion(const Spring& spring, const SpringMeeting& meeting, const Vector3& p_CT);

/// @param slopes  is written, all of it
/// @param drate   gets d rate / d X; null = not wanted
/// @pre as above
void motion_slopes(const Spring& spring, const SpringMeeting& meeting, const Vector3& p_CT, MotionSlopes& slopes,
                   Matrix6* drate);

/// How thick T's layer is where the spring meets it.
struct LayerMotion {
  double h = 0.0;                ///< [m]
  Vector6 dh = Vector6::Zero();  ///< d h / d X
};

/// @param place  of T's layer where the spring meets T; its gradient in C
/// @param ddh    gets d dh / d X; null = not wanted
[[nodiscard]] LayerMotion layer_motion(const Spring& spring, const SpringMeeting& meeting, const LayerPlace& place,
                                       const Vector3& p_CT, Matrix6* ddh);

/// The answer of a query in T turned into C.
[[nodiscard]] TargetPoint turned(TargetPoint point, const Matrix3& R_CT);

}  // namespace heelstrike::fem
