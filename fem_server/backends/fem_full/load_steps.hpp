/// Load stepping of the indentation when no equilibrium is found directly.
#pragma once

#include <functional>
#include <string_view>

namespace heelstrike::fem {

/// Tries 4, 8, ... 32 equal steps until all of them converge.
/// @param backend      name for the message
/// @param depth        [m] overlap of the undeformed bodies
/// @param equilibrium  solves with all gaps enlarged by `offset` [m], starting from the result of the previous step, or
///                     from the undeformed body if `restart` is set; returns true if converged
/// @throws RecoverableError  if none of these numbers of steps succeeds
void solve_in_load_steps(std::string_view backend, double depth,
                         const std::function<bool(double offset, bool restart)>& equilibrium);

}  // namespace heelstrike::fem
