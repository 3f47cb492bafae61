/// Registry entry of the condensed finite-element contact.
#pragma once

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry fem_condensed_entry();

}  // namespace heelstrike::fem
