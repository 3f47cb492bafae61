#include "mbs_server/coupling/pair_kinematics.hpp"

namespace heelstrike::mbs {
namespace {

/// Pose with the rotation closest to the three vectors of the coordinates. Within an iteration these are not exactly
/// orthonormal; removing their stretch makes the tangents exact in every direction of q.
Pose rigid_pose(const ConstSegment& q) {
  Pose X_WB = pose_from_coordinates(q);
  X_WB.R = nearest_rotation(X_WB.R);
  return X_WB;
}

struct BodyMotion {
  Pose X_WB;
  Twist V_WB;
};

BodyMotion body_motion(BodyIndex body, const ConstVector& q, const ConstVector& qd) {
  if (body == ground) return {};
  const auto first = coordinates_per_body * static_cast<Eigen::Index>(body);
  const auto q_b = q.segment<12>(first);
  return {.X_WB = rigid_pose(q_b), .V_WB = twist_from_rates(q_b, qd.segment<12>(first))};
}

PairState relative_state(double t, const BodyMotion& A, const BodyMotion& B) {
  return {.t = t, .X_AB = A.X_WB.inverse() * B.X_WB, .V_AB = relative_twist(A.X_WB, A.V_WB, B.X_WB, B.V_WB)};
}

}  // namespace

PairKinematics::PairKinematics(const Model& model)
    : model_(model),
      frames_(model.pairs.size()),
      states_(model.pairs.size()),
      q_(coordinates_per_body * static_cast<Eigen::Index>(model.bodies.size())),
      qd_(q_.size()) {}

void PairKinematics::update(double t, const ConstVector& q, const ConstVector& qd) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const BodyMotion A = body_motion(model_.pairs[i].main, q, qd);
    const BodyMotion B = body_motion(model_.pairs[i].partner, q, qd);
    states_[i] = relative_state(t, A, B);
    frames_[i] = {.X_WA = A.X_WB, .V_WA = A.V_WB, .p_AoBo_W = B.X_WB.p - A.X_WB.p};
  }
  t_ = t;
  q_ = q;
  qd_ = qd;
  valid_ = true;
}

PairState pair_state(const ContactPair& pair, double t, const ConstVector& q, const ConstVector& qd) {
  return relative_state(t, body_motion(pair.main, q, qd), body_motion(pair.partner, q, qd));
}

Pose main_pose(const ContactPair& pair, const ConstVector& q) {
  if (pair.main == ground) return {};
  return rigid_pose(q.segment<12>(coordinates_per_body * static_cast<Eigen::Index>(pair.main)));
}

Wrench in_world(const Matrix3& R_WA, const Wrench& F_A) {
  return {.torque = R_WA * F_A.torque, .force = R_WA * F_A.force};
}

Wrench opposite_in_world(const Wrench& F_A_W, const Vector3& p_AoBo_W) {
  return {.torque = -F_A_W.torque + p_AoBo_W.cross(F_A_W.force), .force = -F_A_W.force};
}

}  // namespace heelstrike::mbs
