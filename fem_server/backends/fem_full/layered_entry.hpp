/// Registry entry of the nonlinear outer layer over a condensed linear interior: FullContact on the layer.
#pragma once

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry fem_layered_entry();

}  // namespace heelstrike::fem
