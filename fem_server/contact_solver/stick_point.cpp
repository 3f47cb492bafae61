#include "fem_server/contact_solver/stick_point.hpp"

#include <algorithm>

namespace heelstrike::fem {

StickPoint stick_point_of(const StickPointHistory& memory, const std::function<double(const Vector3&)>& gap_at,
                          const Pose& X_AB, const Vector3& x, const SurfacePoint& surface) {
  StickPoint stick_point;
  if (!memory.X_AB) {
    stick_point.p_AP = x;
    return stick_point;
  }
  const Pose X_BA_committed = memory.X_AB->inverse();
  const Vector3 p_BQ = memory.p_BStick.value_or(X_BA_committed * x);
  const Vector3 p_AQ = X_AB * p_BQ;
  Matrix36 carried;
  carried << -skew(p_AQ - X_AB.p), Matrix3::Identity();
  if (memory.touched) return {.p_AP = p_AQ, .dp_dX = carried};
  const double gap_before = std::max(gap_at(X_BA_committed * x), 0.0);
  const double travel = gap_before - surface.gap;
  const double fraction = surface.gap < 0.0 ? gap_before / travel : 1.0;
  const Vector3 here = x + (*memory.X_AB * p_BQ - x);  // current position: reference position and committed
                                                       // displacement
  stick_point.p_AP = (1.0 - fraction) * p_AQ + fraction * here;
  stick_point.dp_dX = (1.0 - fraction) * carried;
  if (fraction < 1.0) {
    ContactNodeState undeformed;
    undeformed.x = x;
    undeformed.surface = surface;
    stick_point.dp_dX -= (here - p_AQ) * (fraction / travel * gap_wrench(undeformed, X_AB.p).transpose());
  }
  return stick_point;
}

}  // namespace heelstrike::fem
