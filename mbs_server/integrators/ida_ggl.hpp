/// IDA on the stabilised index-2 form of Gear, Gupta and Leimkuhler ([gear1985]): BDF that solves for positions,
/// velocities and both sets of multipliers at once, so that position and velocity constraints hold at every step
/// without a separate projection of its history.
///
/// The multipliers take part neither in the error test nor in the convergence test: both would ask more of an algebraic
/// variable than an index-2 problem gives ([brenan1996] ch. 5). Positions and velocities handed out are projected,
/// which removes what the Newton iteration left.
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry ida_ggl();

}  // namespace heelstrike::mbs
