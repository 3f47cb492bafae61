/// CVODE on the index-1 form: BDF with the accelerations of the saddle-point system as right-hand side and a projection
/// of every step onto position and velocity constraints (Eich 1993; CVODE user guide, "projection").
#pragma once

#include <memory>

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] std::unique_ptr<Integrator> make_cvode_index1(const IntegratorSpec& spec, Problem& problem);

}  // namespace heelstrike::mbs
