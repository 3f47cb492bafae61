/// The types of scenario elements in this program.
#pragma once

#include "scenario/catalog.hpp"

namespace heelstrike {

/// The types of elements, integrators and analyses of this program, for reading scenarios.
/// @param backends  empty = contact back-ends and their parameters are not checked
[[nodiscard]] Catalog scenario_catalog(BackendSchemas backends = {});

}  // namespace heelstrike
