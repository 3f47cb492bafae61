/// Coulomb friction of the springs: each holds the point of T that it met until the limit is reached.
///
/// The bed is as soft in shear as its layers: a force k s along the plane of the spring, s the way of the held point
/// across it. docs/theory/elastic_foundation.md, section 6.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/casting_surface.hpp"

namespace heelstrike::fem {

using Matrix36 = Eigen::Matrix<double, 3, 6>;
using RowVector6 = Eigen::Matrix<double, 1, 6>;

/// What the last commit knows of a spring under load.
struct StickSpring {
  std::uint32_t spring = 0;
  Vector3 p_TStick = Vector3::Zero();  ///< [m] point of T
  double limit = 0.0;                 ///< [N] mu N there

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.spring, self.p_TStick, self.limit);
    archive.require(self.limit >= 0.0, "a friction limit >= 0 N");
  }
};

/// Normal force on one spring and how it changes.
struct NormalForce {
  double value = 0.0;                  ///< [N]
  RowVector6 dX = RowVector6::Zero();  ///< by the pose of T in C
  RowVector6 dV = RowVector6::Zero();  ///< by its twist
};

/// A point of T with its derivative by the pose, and whether its spring was under load before.
struct SpringStickPoint {
  Vector3 p_C = Vector3::Zero();  ///< [m]
  Matrix36 dX = Matrix36::Zero();
  Vector3 carried = Vector3::Zero();  ///< [m] where it was at the commit, in C
  double limit_before = 0.0;          ///< [N] mu N at the commit
};

/// Force on C at `point`.
struct BedTraction {
  Vector3 point = Vector3::Zero();  ///< [m]
  Matrix36 dpoint = Matrix36::Zero();
  Vector3 force = Vector3::Zero();  ///< [N] across the spring
  Matrix36 dX = Matrix36::Zero();
  Matrix36 dV = Matrix36::Zero();
  Vector3 held = Vector3::Zero();  ///< [m] the point after slipping, in C
  double limit = 0.0;              ///< [N]
  bool slips = false;
  double stored_energy = 0.0;  ///< [J]
  double slip_work = 0.0;      ///< [J] dissipated since the commit, >= 0
};

/// The point that a spring under load at the commit holds.
[[nodiscard]] SpringStickPoint transform_stick_point(const StickSpring& held, const Pose& X_CT_committed, const Pose& X_CT);

/// The point that a spring holds which came under load since the commit: it met T at the share of the way at which its
/// gap vanished, both taken linearly.
/// @param gap_before  [m] at the commit @param d [m] compression now, with derivative dd
[[nodiscard]] SpringStickPoint onset_point(const Spring& spring, double gap_before, double d, const Vector6& dd,
                                  const Pose& X_CT_committed, const Pose& X_CT);

/// @param stiffness  [N/m] of the spring in shear @param friction [-] mu > 0
[[nodiscard]] BedTraction bed_traction(const Spring& spring, double stiffness, double friction,
                                       const NormalForce& normal, const SpringStickPoint& held);

/// [J] what a spring dissipates that is no longer under load.
[[nodiscard]] double released_slip_work(const Spring& spring, double stiffness, const SpringStickPoint& held);

}  // namespace heelstrike::fem
