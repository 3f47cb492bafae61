/// Solution of the contact of paired surfaces: the same for all kinds of pairing, since the points carry their gaps,
/// normals and compliance.
#pragma once

#include <cstdint>
#include <vector>

#include "fem_server/contact_solver/pairing/contact_pairing.hpp"
#include "fem_server/contact_solver/solver/friction_contact.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"

namespace heelstrike::fem {

/// Replaces the solution of `contact` by that of a frictionless solver.
void take(const NormalContact& found, PairedContact& contact);

/// Replaces the solution of `contact`, with derivatives if `tangents` is set. @throws RecoverableError no convergence
/// @param pairing  whose points move with the pose; null = they do not
void solve_frictionless(const PairState& state, const ContactOptions& options, bool tangents, PairedContact& contact,
                        const ContactPairing* pairing = nullptr);

/// The frictional contact at a state. Refers to the arguments.
[[nodiscard]] FrictionProblem friction_problem(const ContactPairing& pairing, const CommittedContact& committed,
                                               const PairState& state, const PairedContact& contact);

/// As solve_frictionless. @param warm_start  begin with the matrix of the committed state, if it has one
void solve_with_friction(const ContactPairing& pairing, const CommittedContact& committed, const PairState& state,
                         bool tangents, bool warm_start, PairedContact& contact);

/// Displacements of a deformable partner and, where the solution has derivatives, theirs.
void displace_by_share(const PairState& state, PairedContact& contact);

/// Displacements [m] of all near points: those of the solver, and the others from the forces.
[[nodiscard]] std::vector<Vector3> near_displacements(const PairedContact& contact);

/// All near points, for the next step. @param candidates  [m] their undeformed positions
[[nodiscard]] std::vector<CommittedNode> committed_nodes(const PairedContact& contact,
                                                         const std::vector<Vector3>& candidates,
                                                         const PairState& state);

}  // namespace heelstrike::fem
