/// The types of scenario elements and the contact back-ends of this program or library.
#pragma once

#include <vector>

#include "scenario/backend_info.hpp"
#include "scenario/catalog.hpp"

namespace heelstrike {

/// The types of elements, integrators and analyses of this program, for reading scenarios.
/// @param backends  empty = contact back-ends and their parameters are not checked
[[nodiscard]] Catalog scenario_catalog(BackendSchemas backends = {});

[[nodiscard]] std::vector<BackendInfo> embedded_backends();

}  // namespace heelstrike
