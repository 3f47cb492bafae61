#include "mbs_server/coupling/contact_force.hpp"

#include <algorithm>
#include <ranges>

namespace heelstrike::mbs {

using Matrix12d = Eigen::Matrix<double, 12, 12>;

namespace {

/// Derivatives of the two world wrenches of a pair; rows (W_A, W_B), columns (A, B), each angular then linear.
struct WrenchTangents {
  Matrix12d motion = Matrix12d::Zero();    ///< with respect to small motions (theta, r) of A and B in the world
  Matrix12d velocity = Matrix12d::Zero();  ///< with respect to their twists in the world
};

using Matrix6x12d = Eigen::Matrix<double, 6, 12>;

/// dX_AB and dV_AB from motions and twists of A and B in the world. For X: phi = R'(th_B - th_A),
/// dp = R'(r_B - r_A + D x th_A); the same matrix maps the twists to V_AB.
Matrix6x12d relative_motion_map(const Matrix3& R, const Vector3& D) {
  Matrix6x12d T = Matrix6x12d::Zero();
  T.block<3, 3>(0, 0) = -R.transpose();
  T.block<3, 3>(0, 6) = R.transpose();
  T.block<3, 3>(3, 0) = R.transpose() * skew(D);
  T.block<3, 3>(3, 3) = -R.transpose();
  T.block<3, 3>(3, 9) = R.transpose();
  return T;
}

/// Change of V_AB with the motions at fixed twists in the world: the axes of A rotate, and the arm of w_A changes.
Matrix6x12d relative_twist_tangent(const Matrix3& R, const Twist& V_WA, const Twist& V_AB) {
  Matrix6x12d S = Matrix6x12d::Zero();
  S.block<3, 3>(0, 0) = R.transpose() * skew(R * V_AB.w);
  S.block<3, 3>(3, 0) = R.transpose() * skew(R * V_AB.v);
  S.block<3, 3>(3, 3) = R.transpose() * skew(V_WA.w);
  S.block<3, 3>(3, 9) = -R.transpose() * skew(V_WA.w);
  return S;
}

WrenchTangents world_tangents(const Pose& X_WA, const Twist& V_WA, const PairState& state, const Response& response) {
  const Matrix3& R = X_WA.R;
  const Vector3 D = R * state.X_AB.p;
  Matrix6 rotate = Matrix6::Zero();
  rotate.block<3, 3>(0, 0) = R;
  rotate.block<3, 3>(3, 3) = R;
  const Matrix6x12d T = relative_motion_map(R, D);
  const Matrix6 dW_dX = rotate * response.dF_A_dX;
  const Matrix6 dW_dV = rotate * response.dF_A_dV;

  const Vector3 torque = R * response.F_A.torque;
  const Vector3 force = R * response.F_A.force;
  Matrix6x12d A_motion = dW_dX * T + dW_dV * relative_twist_tangent(R, V_WA, state.V_AB);
  A_motion.block<3, 3>(0, 0) -= skew(torque);
  A_motion.block<3, 3>(3, 0) -= skew(force);
  const Matrix6x12d A_velocity = dW_dV * T;

  WrenchTangents tangents;
  const auto fill = [&](Matrix12d& target, const Matrix6x12d& A_rows) {
    target.topRows<6>() = A_rows;
    target.block<3, 12>(6, 0) = -A_rows.topRows<3>() + skew(D) * A_rows.bottomRows<3>();
    target.block<3, 12>(9, 0) = -A_rows.bottomRows<3>();
  };
  fill(tangents.motion, A_motion);
  fill(tangents.velocity, A_velocity);
  tangents.motion.block<3, 3>(6, 3) += skew(force);
  tangents.motion.block<3, 3>(6, 9) -= skew(force);
  return tangents;
}

}  // namespace

bool ContactForce::any_acts() const {
  return std::ranges::any_of(std::views::iota(std::size_t{0}, model_.pairs.size()),
                             [this](std::size_t i) { return scheme_.acts(i); });
}

void ContactForce::add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  if (!any_acts()) return;
  const auto all =
      at.allow_cached_contact ? scheme_.responses_at_time(at.t, at.q, at.qd) : scheme_.responses(at.t, at.q, at.qd);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!scheme_.acts(i)) continue;
    energy.potential += all[i].stored_energy;
    energy.dissipated_power += all[i].dissipated_power;
    const PairFrames& frames = kinematics_.frames(i);
    const Wrench F_A_W = in_world(frames.X_WA.R, all[i].F_A);
    const auto& pair = model_.pairs[i];
    if (pair.main != ground) {
      const auto first = coordinates_per_body * static_cast<Eigen::Index>(pair.main);
      g.segment<12>(first) += generalized_force(at.q.segment<12>(first), F_A_W);
    }
    if (pair.partner != ground) {
      const auto first = coordinates_per_body * static_cast<Eigen::Index>(pair.partner);
      g.segment<12>(first) += generalized_force(at.q.segment<12>(first), opposite_in_world(F_A_W, frames.p_AoBo_W));
    }
  }
}

void ContactForce::add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) {
  std::span<const Response> all;
  if (any_acts()) all = scheme_.responses(at.t, at.q, at.qd);
  for (std::size_t i = 0; i < model_.pairs.size(); ++i) {
    add_pair_tangents(i, scheme_.acts(i) ? &all[i] : nullptr, at, K, C);
  }
}

void ContactForce::add_pair_tangents(std::size_t i, const Response* response, const MotionState& at, SparseAssembler& K,
                                     SparseAssembler& C) const {
  const auto& pair = model_.pairs[i];
  const BodyIndex bodies[2] = {pair.main, pair.partner};
  WrenchTangents tangents;
  Wrench F_W[2];
  if (response != nullptr) {
    const PairFrames& frames = kinematics_.frames(i);
    const PairState& state = kinematics_.states()[i];
    tangents = world_tangents(frames.X_WA, frames.V_WA, state, *response);
    F_W[0] = in_world(frames.X_WA.R, response->F_A);
    F_W[1] = opposite_in_world(F_W[0], frames.X_WA.R * state.X_AB.p);
  }
  // Contributions have the same sequence whether the pair acts or not: the pattern of the matrices is fixed.
  for (int row = 0; row < 2; ++row) {
    if (bodies[row] == ground) continue;
    const int first_row = coordinates_per_body * bodies[row];
    const Matrix6x12 B_row = motion_map(at.q.segment<12>(first_row));
    for (int col = 0; col < 2; ++col) {
      if (bodies[col] == ground) continue;
      const int first_col = coordinates_per_body * bodies[col];
      const auto q_col = at.q.segment<12>(first_col);
      const Matrix6x12 B_col = motion_map(q_col);
      const Matrix6 motion = tangents.motion.block<6, 6>(6 * row, 6 * col);
      const Matrix6 velocity = tangents.velocity.block<6, 6>(6 * row, 6 * col);
      Matrix12 K_block = B_row.transpose() * (motion * B_col + velocity * twist_tangent(at.qd.segment<12>(first_col)));
      if (row == col) K_block += generalized_force_tangent(F_W[row]);
      K.add_block(first_row, first_col, K_block);
      C.add_block(first_row, first_col, Matrix12(B_row.transpose() * velocity * B_col));
    }
  }
}

}  // namespace heelstrike::mbs
