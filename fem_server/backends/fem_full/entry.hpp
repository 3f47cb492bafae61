/// Registry entry of the full-order finite-element contact.
#pragma once

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry fem_full_entry();

}  // namespace heelstrike::fem
