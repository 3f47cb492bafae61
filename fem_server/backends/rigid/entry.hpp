/// Contact of rigid bodies: the geometry is answered here, the impulses are found by the multibody side.
#pragma once

#include <vector>

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

/// Without friction and with Coulomb's.
[[nodiscard]] std::vector<BackendEntry> rigid_entries();

}  // namespace heelstrike::fem
