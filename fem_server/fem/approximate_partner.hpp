/// Distance function of a finite-element body as a contact target, approximate inside the body.
#pragma once

#include <memory>

#include "fem_server/fem/body_model.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// Inside, the normal n is minus the direction of the function's gradient (mean of the adjacent elements at each node,
/// interpolated), and the gap is minus the function divided by the length of that gradient, which is 1 for a distance:
/// this removes the error of the slope at the surface. Both are continuous. Outside, where the function is undefined,
/// and in elements with all nodes on the surface, gap and normal are those of the surface mesh. The gradient of the gap
/// equals the normal up to the error of the function; measured: docs/theory/contact_fem.md, section 8.
/// @param length  [m] c > 0 of approximate_distance
/// @throws as approximate_distance
[[nodiscard]] std::unique_ptr<SignedDistance> make_approximate_partner(const BodyModel& body, double length);

}  // namespace heelstrike::fem
