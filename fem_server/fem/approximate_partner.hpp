/// A finite-element body as the surface that points of a partner meet, inside by its approximate distance function.
#pragma once

#include <memory>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/partner_surface.hpp"

namespace heelstrike::fem {

/// Inside, the gap is minus the approximate distance, interpolated linearly in the tetrahedra, and the normal minus its
/// gradient (mean of the adjacent elements, interpolated, unit length): both are continuous. Outside, and in elements
/// with all nodes on the surface, where the function is zero, gap and normal are those of the surface mesh. Errors of
/// the gap: docs/theory/contact_fem.md, section 8. The gap's gradient is the normal up to these errors.
/// @param length  [m] c > 0 of approximate_distance
/// @throws as approximate_distance
[[nodiscard]] std::unique_ptr<PartnerSurface> make_approximate_partner(const BodyModel& body, double length);

}  // namespace heelstrike::fem
