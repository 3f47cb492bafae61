/// IDA on the stabilised index-2 form of Gear, Gupta and Leimkuhler ([gear1985]): BDF for positions,
/// velocities and both sets of multipliers simultaneously, so that position and velocity constraints hold at every step
/// without a separate projection of its history.
///
/// The multipliers are excluded from the error test and the convergence test: both would require more accuracy of an
/// algebraic variable than an index-2 problem provides ([brenan1996] ch. 5). Returned positions and velocities are
/// projected, which removes the residual of the Newton iteration.
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry ida_ggl();

}  // namespace heelstrike::mbs
