/// Adams-Bashforth predictor and Adams-Moulton corrector of order 4 (predict, evaluate, correct, evaluate) with a fixed
/// step and Baumgarte's stabilisation, for comparison with the literature ([machado2012] eqs 3.52, 3.55 and 3.38). The
/// first three steps after a restart or a change of the step are Runge-Kutta steps of order 4.
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry ab4am4();

}  // namespace heelstrike::mbs
