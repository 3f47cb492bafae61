/// Contact of rigid bodies: this back-end gives the geometry, the multibody solver computes the impulses.
#pragma once

#include <vector>

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

/// Without friction, and with Coulomb friction.
[[nodiscard]] std::vector<BackendEntry> rigid_entries();

}  // namespace heelstrike::fem
