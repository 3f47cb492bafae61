/// Contact of a deformable body with a rigid cloud of penetrating points.
///
/// The problem is that of two bodies with swapped roles: the points of the cloud are the contact nodes, the body is the
/// deformable partner. It is solved in the cloud's frame; poses, wrenches and tangents are transformed. The distance of
/// the points to the body is exact, or optionally its approximate distance function [melo2023, section 4.4].
#pragma once

#include "common/contact/contact.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// State of the swapped pair: pose and twist of A in B. @param state  of B in A
[[nodiscard]] PairState swap_roles(const PairState& state);

/// The response of the pair from that of the swapped pair. @param state  of B in A
[[nodiscard]] Response restore_roles(const Response& on_B, const PairState& state);

/// Maximum fraction of the body's energy stored in the points, see find_cloud_compliance.
constexpr double cloud_energy_fraction = 1e-3;

/// [m/N] Compliance of a point of a cloud: c = fraction / 3 times the smallest compliance of a node of the body, equal
/// in all directions. Rigid points would have no unique forces where several lie on one triangle. For points in
/// contact then
///
///     F_rigid / (1 + fraction) <= F <= F_rigid,   F_rigid - F = c sum |f_i|^2 / d  to first order in c
///
/// for the force F at an approach d that is equal for all points; docs/theory/contact_fem.md, section 8.
[[nodiscard]] double find_cloud_compliance(const SurfaceCompliance& body, double share = cloud_energy_fraction);

}  // namespace heelstrike::fem
