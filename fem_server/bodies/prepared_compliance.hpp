/// The surface compliance of a prepared body: from the cache, or computed once for all sessions that request it.
#pragma once

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// Shared by fem_condensed and fem_full, which reuse each other's products.
/// @param limit  on memory, if it is computed
/// @throws as condense
[[nodiscard]] SurfaceCompliance prepared_compliance(const BodyModel& body, const Support& support,
                                                    const ContactNodes& contact, const PrepareContext& context,
                                                    const MemoryLimit& limit);

}  // namespace heelstrike::fem
