/// A partner that is moved in by steps when there is no equilibrium at once.
#pragma once

#include <functional>
#include <string_view>

namespace heelstrike::fem {

/// Tries 4, 8, ... 32 equal steps until all of them have found equilibrium.
/// @param backend      whose name the message tells
/// @param depth        [m] overlap of the undeformed bodies
/// @param equilibrium  with all gaps enlarged by `offset` [m], starting from what the step before has found, or from
///                     the undeformed body when `restart` is set; tells whether it has found one
/// @throws RecoverableError  none of these numbers of steps has
void solve_in_load_steps(std::string_view backend, double depth,
                   const std::function<bool(double offset, bool restart)>& equilibrium);

}  // namespace heelstrike::fem
