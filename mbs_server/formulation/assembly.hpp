/// Consistent initial state: positions and velocities that satisfy all constraints, found from an approximate guess,
/// and the selection of independent constraints.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

struct Start {
  VectorX q;
  VectorX qd;
};

/// Receives a level ("info", "warning") and a sentence.
using AssemblyLog = std::function<void(std::string_view level, const std::string& text)>;

/// Moves the initial poses and velocities of the model onto the constraints at time t by a mass-weighted damped Newton
/// method (damping admits redundant constraints), removes redundant rows from `system`, and reports to `log` the
/// corrections (as a warning above a hundredth of the model's size or of a radian) and the redundant constraints.
///
/// Rows that depend on others only in the start pose (a singular pose, detected by a small trial motion) are kept; the
/// system is solved with damping while it passes the pose.
/// @throws Error{invalid_input} with the joints in conflict when no pose or no velocity satisfies all constraints;
/// Error{cancelled} when stopped
[[nodiscard]] Start assemble(System& system, double t, const AssemblyLog& log, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
