/// Where a touching node sticks: what friction knows of where it came from. Shared by fem_condensed and fem_full.
#pragma once

#include <functional>
#include <optional>

#include "fem_server/contact_solver/contact_wrench.hpp"

namespace heelstrike::fem {

/// Where a node would stick, and how that point of B moves with the pose.
struct StickPoint {
  Vector3 p_AP = Vector3::Zero();     ///< [m] the point in A
  Matrix36 dp_dX = Matrix36::Zero();  ///< its derivative
};

/// What the last commit knows of one node.
struct StickPointHistory {
  std::optional<Pose> X_AB;         ///< committed pose; none = nothing has been committed
  std::optional<Vector3> p_BStick;  ///< [m] point of B; none = the node was far from B
  bool touched = false;             ///< it carried force
};

/// A touching node sticks to the point of B that it was committed to. A node that has come down since the commit sticks
/// to where it met B: between its committed place relative to B and the present one, at the fraction of the way where
/// the undeformed gap went through zero. Deformation since the commit counts as slip in full.
/// @param gap_at   [m] gap of a point of B's frame
/// @param x        [m] reference position of the node
/// @param surface  of B at x, at the present pose, in A
[[nodiscard]] StickPoint stick_point_of(const StickPointHistory& memory,
                                        const std::function<double(const Vector3&)>& gap_at, const Pose& X_AB,
                                        const Vector3& x, const SurfacePoint& surface);

}  // namespace heelstrike::fem
