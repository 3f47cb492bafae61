/// Stick point of an active node: the history of friction. Shared by fem_condensed and fem_full.
#pragma once

#include <functional>
#include <optional>

#include "fem_server/contact_solver/contact_wrench.hpp"

namespace heelstrike::fem {

/// Stick point of a node and its derivative by the pose.
struct StickPoint {
  Vector3 p_AP = Vector3::Zero();     ///< [m] the point in A
  Matrix36 dp_dX = Matrix36::Zero();  ///< its derivative
};

/// Committed data of one node.
struct StickPointHistory {
  std::optional<Pose> X_AB;         ///< committed pose; none = no commit yet
  std::optional<Vector3> p_BStick;  ///< [m] point of B; none = the node was far from B
  bool touched = false;             ///< it carried force
};

/// An active node sticks to its committed point of B. A node in contact since the commit sticks to the point of onset:
/// between its committed position relative to B and the current one, at the fraction at which the undeformed gap is
/// zero. The whole deformation since the commit counts as slip.
/// @param gap_at   [m] gap of a point of B's frame
/// @param x        [m] reference position of the node
/// @param surface  of B at x, at the current pose, in A
[[nodiscard]] StickPoint stick_point_of(const StickPointHistory& memory,
                                        const std::function<double(const Vector3&)>& gap_at, const Pose& X_AB,
                                        const Vector3& x, const SurfacePoint& surface);

}  // namespace heelstrike::fem
