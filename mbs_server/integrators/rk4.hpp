/// The classical Runge-Kutta method of order 4 with a fixed step and Baumgarte's stabilisation, for comparison with the
/// literature ([machado2012] eqs 3.46-3.51 and 3.38).
#pragma once

#include <memory>

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

/// @throws Error{invalid_input} without `step`
[[nodiscard]] std::unique_ptr<Integrator> make_rk4(const IntegratorSpec& spec, Problem& problem);

}  // namespace heelstrike::mbs
