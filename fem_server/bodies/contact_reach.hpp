/// Candidate nodes that a rigid partner can reach: the others are omitted from the compliance.
///
/// A pose is solved when no candidate lies deeper in the partner than d = max_penetration. Only nodes with a gap of at
/// most this depth are considered then, because the surface rises nowhere by more than the partner has pushed it down.
/// So node i can be reached if and only if there is a pose with
///
///     g(x_i) <= d    and    g(x_j) >= -d  for all candidates j                                              (1)
///
/// For a plane with normal -n (n points out of the body) this is n . (x_j - x_i) <= 2 d for all j: no other candidate
/// protrudes more than 2 d above x_i in that direction. For a sphere of radius R (R < 0: a concave socket) with its
/// centre at x_i + s n, s in [R - d, R + d], the law of cosines turns (1) into the same form with e = x_j - x_i,
///
///     n . e <= max { (4 R d + e^2) / (2 (R + d)),  e^2 / (2 (R - d)) },                                     (2)
///
/// where the bound is largest at one end of the range of s; for R to infinity it is 2 d. An infinite cylinder contains
/// a ball of its radius that also touches x_i, so it reaches no more than that ball. Ends, edges and corners are
/// sharp: finite cylinders, meshes, points and deformable partners reach all candidates.
///
/// Directions n are searched by bisection of the faces of a cube. Candidate j closes a cell of directions around n_c
/// with radius r (chord) when n_c . e - r |e| exceeds its bound; a node is omitted only when all cells are closed.
/// Undecided finest cells count as reachable: a node is omitted at the latest when the candidates that hide it exceed
/// their bounds by r |e|. Derivation and assumptions: docs/theory/contact_fem.md, section 2.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "common/contact/surface.hpp"

namespace heelstrike::fem {

/// A partner with a bounded reach.
struct PartnerReachability {
  double curvature = 0.0;        ///< [1/m] 1 / R: 0 for a plane, < 0 for a concave sphere
  double max_penetration = 0.0;  ///< [m] > 0
};

/// None when the partner reaches all candidates: it has edges or corners, deforms, or is smaller than max_penetration.
[[nodiscard]] std::optional<PartnerReachability> partner_reach(const ContactBody& partner, double max_penetration);

/// @param points   [m] candidates
/// @param normals  [-] outward, initial directions of the search; they do not change the result
/// @return per point: false when no pose (1) brings the partner to it. Conservative (never false for a reachable
///         point); independent of the number of threads
/// @throws Error{cancelled} when stopped
[[nodiscard]] std::vector<bool> reachable_points(std::span<const Vector3> points, std::span<const Vector3> normals,
                                                 const PartnerReachability& reach, const std::stop_token& stop);

}  // namespace heelstrike::fem
