/// Registry entries of the full-order finite-element contact and of that with a nonlinear outer layer.
#pragma once

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry fem_full_entry();
[[nodiscard]] BackendEntry fem_layered_entry();

}  // namespace heelstrike::fem
