/// Consistent initial state: positions and velocities that satisfy all constraints, found from an approximate guess,
/// and the selection of independent constraints.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Rows of `A` whose distance to the span of the rows kept before them is at least 1e-9, increasing: of several
/// equivalent constraints the first in the file stays.
///
/// Householder's method on A^T, column by column in the given order, with sparse reflections, each of which maps the
/// remainder of its row to its largest entry. (A QR with pivots on the diagonal causes fill-in: the pivot of a row
/// would belong to another body.) Only reflections that share an entry with a row are applied to it, so that the cost
/// is linear in the number of separate bodies and quadratic in the length of a chain.
/// @throws Error{cancelled} when stopped
[[nodiscard]] std::vector<int> independent_rows(const SparseMatrix& A, const std::stop_token& stop = {});

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
