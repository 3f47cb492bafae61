/// Ranks of this program for the preparation of large bodies.
#pragma once

#include <functional>
#include <memory>

#include "common/errors/error.hpp"
#include "common/process/rank_session.hpp"

namespace heelstrike::fem {

/// Joins the processes that a launcher of MPI (mpirun, srun) started together with this one. Once in a process.
/// @param on_loss  called on another thread when one of them ended too early; must end this process
/// @return null when this process is alone, or in a build without finite elements
/// @throws Error{unavailable} when MPI cannot start; Error{file} without the module of deal.II
[[nodiscard]] std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> on_loss);

/// Loads the finite elements at once if the address space of the process is limited: a server reports at its start that
/// they do not fit, not to its first client.
/// @throws Error{limit} if they do not fit; Error{file} without the module of deal.II
void load_elements_below_limit();

}  // namespace heelstrike::fem
