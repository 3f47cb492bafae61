/// Diagonally implicit, L-stable Runge-Kutta methods of ARKODE on the index-1 form ([kennedy2003], [kennedy2019]), with
/// exact Newton systems and a projection of every accepted step onto the constraints. The explicit counterpart of the
/// method integrates the quadratures outside of the Newton iteration.
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry arkode_dirk();

}  // namespace heelstrike::mbs
