/// All registries of the multibody side in one table for the scenario reader.
#pragma once

#include "scenario/catalog.hpp"

namespace heelstrike::mbs {

/// All types of joints, force elements, drivers, integrators and analyses of this program, for the scenario reader.
/// @param backends  empty = contact back-ends and their parameters are not checked
[[nodiscard]] Catalog scenario_catalog(BackendSchemas backends = {});

}  // namespace heelstrike::mbs
