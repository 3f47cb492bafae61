/// Rigid motions of a body for inertia relief.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

using SixColumns = Eigen::Matrix<double, Eigen::Dynamic, 6>;

/// Rigid motions about the mean of the nodes, rotations scaled to the magnitude of translations: same span as
/// rigid_modes(), better conditioned.
[[nodiscard]] SixColumns centred_modes(const BodyModel& body);

/// Rigid motions R and the loads B = M R (R^T M R)^-1 that produce unit accelerations along them.
struct InertiaModes {
  SixColumns modes;
  SixColumns loads;
};
/// @throws Error{invalid_input} for a body without mass
[[nodiscard]] InertiaModes inertia_modes(const BodyModel& body);

/// (1 - B R^T) f: the self-equilibrated part of a load on a free body; the rest is balanced by inertia forces. With R
/// and B exchanged: a displacement without its mean rigid motion, (1 - R B^T) u.
template <class Columns, class Field>
[[nodiscard]] Field balanced(const Columns& R, const Columns& B, const Field& f) {
  return f - B * (R.transpose() * f);
}

/// Six of the given dofs that constrain all rigid motions, selected by greedy pivoting to be far apart.
/// @throws Error{invalid_input} when no such dofs exist
[[nodiscard]] std::vector<std::int64_t> isostatic_dofs(const SixColumns& modes, std::span<const std::int64_t> dofs);

}  // namespace heelstrike::fem
