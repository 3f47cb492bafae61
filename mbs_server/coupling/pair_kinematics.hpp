/// Poses and relative motion of the bodies of the contact pairs, computed once per state.
#pragma once

#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

/// One pair at one state.
struct PairFrames {
  Pose X_WA;                           ///< of the main body
  Twist V_WA;                          ///< of the main body, expressed in the world
  Vector3 p_AoBo_W = Vector3::Zero();  ///< [m] from the origin of A to that of B, in the world
};

class PairKinematics {
 public:
  /// @param model  outlives this object
  explicit PairKinematics(const Model& model);

  /// True if the kinematics are those of this state.
  [[nodiscard]] bool is_at(double t, const ConstVector& q, const ConstVector& qd) const {
    return valid_ && t == t_ && q == q_ && qd == qd_;
  }
  /// [s] of the state.
  [[nodiscard]] double time() const { return t_; }
  [[nodiscard]] const VectorX& q() const { return q_; }
  [[nodiscard]] const VectorX& qd() const { return qd_; }
  /// Updates all pairs to a state.
  void update(double t, const ConstVector& q, const ConstVector& qd);
  [[nodiscard]] const PairFrames& frames(std::size_t pair) const { return frames_[pair]; }
  /// States for the partner, per pair.
  [[nodiscard]] std::span<const PairState> states() const { return states_; }

 private:
  const Model& model_;
  std::vector<PairFrames> frames_;
  std::vector<PairState> states_;
  bool valid_ = false;
  double t_ = 0.0;
  VectorX q_, qd_;
};

/// State of one pair for the partner.
[[nodiscard]] PairState pair_state(const ContactPair& pair, double t, const ConstVector& q, const ConstVector& qd);
/// Pose of the main body in the world.
[[nodiscard]] Pose main_pose(const ContactPair& pair, const ConstVector& q);

/// Wrench on A about its origin, in the world. @param R_WA  orientation of A
[[nodiscard]] Wrench in_world(const Matrix3& R_WA, const Wrench& F_A);
/// Wrench on B about its origin, in the world, opposite to `F_A_W`.
/// @param p_AoBo_W  [m] from the origin of A to that of B
[[nodiscard]] Wrench opposite_in_world(const Wrench& F_A_W, const Vector3& p_AoBo_W);

}  // namespace heelstrike::mbs
