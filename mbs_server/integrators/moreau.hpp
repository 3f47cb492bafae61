/// Moreau's time stepping for rigid contacts [moreau1988], with impacts at the instants at which they happen.
#pragma once

#include "mbs_server/integrators/integrator.hpp"

namespace heelstrike::mbs {

[[nodiscard]] IntegratorEntry moreau();

}  // namespace heelstrike::mbs
