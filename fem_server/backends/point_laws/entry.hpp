/// Registry entries of the ten point contact laws.
#pragma once

#include <vector>

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] std::vector<BackendEntry> point_law_entries();

}  // namespace heelstrike::fem
