/// Coulomb friction of the springs: each sticks to its contact point on T until the limit is reached.
///
/// The shear stiffness of the bed is that of its layers: a force k s in the tangential plane of T, where s is the
/// displacement of the stick point along it. docs/theory/elastic_foundation.md, section 6.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/casting_surface.hpp"
#include "fem_server/backends/elastic_foundation/friction_load.hpp"

namespace heelstrike::fem {

/// Committed state of a loaded spring.
struct StickSpring {
  std::uint32_t spring = 0;
  Vector3 p_TStick = Vector3::Zero();   ///< [m] point of T
  Vector3 normal_T = Vector3::UnitZ();  ///< [-] of T there, in T
  double limit = 0.0;                   ///< [N] mu N there

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.spring, self.p_TStick, self.normal_T, self.limit);
    // The rounding of a few rotations, times a thousand.
    archive.require(std::abs(self.normal_T.norm() - 1.0) < 1e-12, "a normal of unit length");
    archive.require(self.limit >= 0.0, "a friction limit >= 0 N");
  }
};

/// A point of T with its derivative by the pose, and the friction limit of its spring at the commit.
struct SpringStickPoint {
  Vector3 p_C = Vector3::Zero();  ///< [m]
  Matrix36 dX = Matrix36::Zero();
  Vector3 transported = Vector3::Zero();  ///< [m] its committed position, in C
  double limit_before = 0.0;              ///< [N] mu N at the commit
};

/// Force on C at the base of a spring.
struct BedTraction {
  Vector3 force = Vector3::Zero();  ///< [N] along T
  Matrix36 dX = Matrix36::Zero();
  Matrix36 dV = Matrix36::Zero();
  Vector3 normal = Vector3::UnitZ();  ///< [-] across T, in C; of either sign
  Vector3 stored = Vector3::Zero();   ///< [m] the stick point after slipping, in C, beside the base of the spring
  double limit = 0.0;                 ///< [N]
  bool slips = false;
  double stored_energy = 0.0;  ///< [J]
  double slip_work = 0.0;      ///< [J] dissipated since the commit, >= 0
};

/// Part of a displacement of the stick point from the base of its spring that shears the layer.
[[nodiscard]] Vector3 along_surface(const Vector3& normal, const Vector3& displacement);

/// Stick point of a spring that was loaded at the commit.
[[nodiscard]] SpringStickPoint transform_stick_point(const StickSpring& stored, const Pose& X_CT_committed,
                                                     const Pose& X_CT);

/// Stick point of a spring loaded since the commit: its contact point on T at the time at which its gap vanished, with
/// gap and motion linear over the step.
/// @param gap_before  [m] at the commit @param d [m] compression now, with derivative dd
[[nodiscard]] SpringStickPoint onset_point(const Spring& spring, double gap_before, double d, const Vector6& dd,
                                           const Pose& X_CT_committed, const Pose& X_CT);

/// @param stiffness  [N/m] of the spring in shear @param friction [-] mu > 0
/// @pre load.force is not zero
[[nodiscard]] BedTraction bed_traction(const Spring& spring, double stiffness, double friction,
                                       const FrictionLoad& load, const SpringStickPoint& stored);

/// [J] dissipated by a spring that is no longer loaded. @param normal  [-] of T at its stick point, in C
[[nodiscard]] double released_slip_work(const Spring& spring, double stiffness, const Vector3& normal,
                                        const SpringStickPoint& stored);

}  // namespace heelstrike::fem
