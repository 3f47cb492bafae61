/// CVODE on the index-1 form: BDF with the accelerations of the saddle-point system as right-hand side and a projection
/// of every step onto position and velocity constraints (Eich 1993; CVODE user guide, "projection").
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry cvode_index1();

}  // namespace heelstrike::mbs
