/// Explicit Runge-Kutta methods of ARKODE on the index-1 form, with a projection of every accepted step onto the
/// constraints. Order 5 is the pair of Dormand and Prince ([dormand1980]); 2 Heun-Euler, 3 Bogacki-Shampine,
/// 4 Zonneveld, 6 Verner, 8 Fehlberg.
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry arkode_erk();

}  // namespace heelstrike::mbs
