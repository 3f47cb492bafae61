/// The classical Runge-Kutta method of order 4 with a fixed step and Baumgarte's stabilisation, for comparison with the
/// literature ([machado2012] eqs 3.46-3.51 and 3.38).
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry rk4();

}  // namespace heelstrike::mbs
