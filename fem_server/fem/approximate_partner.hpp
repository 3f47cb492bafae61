/// Approximate distance from interior points to the surface of a body, on the mesh of the body.
///
/// The screened Poisson equation c^2 lap(phi) = phi, phi = 1 on the surface, has phi = exp(-d / c) for a half space;
/// by Varadhan's theorem -c ln(phi) tends to the distance d as c -> 0 [melo2023, equations 4.19 to 4.22]. On a convex
/// surface of radius R it is underestimated by the factor 1 - c / R; measured errors: docs/theory/contact_fem.md.
///
/// Distance function of a finite-element body as a contact target, approximate inside the body.
#pragma once

#include <memory>
#include <vector>

#include "fem_server/fem/body_model.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// [m] mean edge length of the tetrahedra, the natural scale of the length parameter c.
[[nodiscard]] double mean_edge_length(const BodyModel& body);

/// @param length  [m] c > 0; below about one mean edge the layer next to the surface is not resolved
/// @return        [m] per node of the mesh, >= 0, zero on the surface
/// @throws Error{invalid_input} for c <= 0, for meshes other than 4-node tetrahedra, and for bodies so thick (over 600
///         c) that phi underflows
[[nodiscard]] std::vector<double> approximate_distance(const BodyModel& body, double length);

/// Inside, the normal n is minus the direction of the function's gradient (mean of the adjacent elements at each node,
/// interpolated), and the gap is minus the function divided by the length of that gradient, which is 1 for a distance:
/// this removes the error of the slope at the surface. Both are continuous. Outside, where the function is undefined,
/// and in elements with all nodes on the surface, gap and normal are those of the surface mesh. The gradient of the gap
/// equals the normal up to the error of the function; measured: docs/theory/contact_fem.md, section 8.
/// @param length  [m] c > 0 of approximate_distance
/// @throws as approximate_distance
[[nodiscard]] std::unique_ptr<SignedDistance> make_approximate_partner(const BodyModel& body, double length);

}  // namespace heelstrike::fem
