/// Adams-Bashforth predictor and Adams-Moulton corrector of order 4 (predict, evaluate, correct, evaluate) with a fixed
/// step and Baumgarte's stabilisation, for comparison with the literature ([machado2012] eqs 3.52, 3.55 and 3.38). The
/// first three steps after a restart or a change of the step are Runge-Kutta steps of order 4.
#pragma once

#include <memory>

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

/// @throws Error{invalid_input} without `step`
[[nodiscard]] std::unique_ptr<Integrator> make_ab4am4(const IntegratorSpec& spec, Problem& problem);

}  // namespace heelstrike::mbs
