/// Registry entry of the elastic foundation.
#pragma once

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry elastic_foundation_entry();

}  // namespace heelstrike::fem
