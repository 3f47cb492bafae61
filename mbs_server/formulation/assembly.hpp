/// Consistent start: positions and velocities that satisfy all constraints, found from an approximate guess, and the
/// choice of independent constraints.
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

/// Moves the initial poses and velocities of the model onto the constraints at time t, heavy bodies least
/// (mass-weighted damped Newton; damping makes it work with redundant constraints too), removes redundant rows from
/// `system`, and tells through `log` what was moved by how much (a warning above a hundredth of the model's size or of
/// a radian) and which constraints were redundant.
///
/// Rows that depend on others only in the start pose (a singular pose, found by a small trial motion) are kept; the
/// system is then solved with damping while it passes the pose.
/// @throws Error{invalid_input} naming the joints in conflict when no pose or no velocity satisfies all constraints;
/// Error{cancelled} when stopped
[[nodiscard]] Start assemble(System& system, double t, const AssemblyLog& log, const std::stop_token& stop = {});

}  // namespace heelstrike::mbs
