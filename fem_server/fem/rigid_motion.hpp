/// Rigid motions of a body: what inertia relief holds and takes out again.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

using SixColumns = Eigen::Matrix<double, Eigen::Dynamic, 6>;

/// Rigid motions about the mean of the nodes, rotations scaled to the size of translations: same span as rigid_modes(),
/// better conditioned.
[[nodiscard]] SixColumns centred_modes(const BodyModel& body);

/// Rigid motions R and the loads B = M R (R^T M R)^-1 that give a body unit accelerations along them.
struct InertiaModes {
  SixColumns modes;
  SixColumns loads;
};
/// @throws Error{invalid_input} for a body without mass
[[nodiscard]] InertiaModes inertia_modes(const BodyModel& body);

/// (1 - B R^T) f: what of a load deforms a free body; the rest is balanced by the inertia of the motion it causes. With
/// R and B exchanged: a displacement without its mean rigid motion, (1 - R B^T) u.
template <class Columns, class Field>
[[nodiscard]] Field balanced(const Columns& R, const Columns& B, const Field& f) {
  return f - B * (R.transpose() * f);
}

/// Six of the given dofs that stop all rigid motion, as far apart as greedy pivots find them.
/// @throws Error{invalid_input} when they cannot
[[nodiscard]] std::vector<std::int64_t> isostatic_dofs(const SixColumns& modes, std::span<const std::int64_t> dofs);

}  // namespace heelstrike::fem
