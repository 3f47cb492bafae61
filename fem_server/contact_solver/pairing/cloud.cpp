#include "fem_server/contact_solver/pairing/cloud.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/pairing/contact_pairing.hpp"
#include "fem_server/contact_solver/pairing/solve_contact.hpp"

namespace heelstrike::fem {

namespace {

/// Small motions and twists of A in B as functions of those of B in A, each in its own axes.
Matrix6 exchange(const Pose& X_AB) {
  const Matrix3 R_BA = X_AB.R.transpose();
  Matrix6 T;
  T << -R_BA, Matrix3::Zero(), -R_BA * skew(X_AB.p), -R_BA;
  return T;
}

class CloudPairing final : public ContactPairing {
 public:
  using ContactPairing::ContactPairing;

  [[nodiscard]] bool swaps_roles() const override { return true; }
  [[nodiscard]] PairState solved_state(const PairState& state) const override { return swap_roles(state); }

  void detect(const CommittedContact& committed, const PairState& state, PairedContact& contact) const override {
    const Gaps gaps = begin(committed, state, contact);
    if (!contact.touches()) return;
    check_depth(contact, model_.options, state);
    find_near(committed, state, gaps, contact);
    if (contact.points.empty()) return;
    std::vector<Vector3> feet;  // [m] nearest points of the body
    for (std::size_t i = 0; i < contact.points.size(); ++i) {
      feet.emplace_back(contact.points[i] - contact.near.gaps[i] * contact.near.normals[i]);
    }
    contact.on_partner = model_.deformable->weights_at(state.X_AB, feet);
    add_partner(diagonal_compliance(contact.points.size(), model_.point_compliance), state, contact);
  }

  void displace_partner(const PairState& state, PairedContact& contact) const override {
    for (const std::uint32_t i : contact.contact_positions) {
      if (!contact.on_partner.outside[i]) continue;
      throw input_error("contact_direction",
                        "points of the cloud touch the body outside its contact nodes; extend contact_set, contact_box "
                        "or contact_direction");
    }
    displace_by_share(state, contact);
  }

  [[nodiscard]] std::shared_ptr<const CandidateCache> make_candidate_cache(
      const CommittedContact& committed) const override {
    return find_cached_candidates(committed);  // no blocks: the body's compliance at the points changes with the pose
  }

  [[nodiscard]] Response response(const PairedContact& contact, const std::optional<double>& approach_velocity,
                                  const PairState& state) const override {
    return restore_roles(ContactPairing::response(contact, approach_velocity, swap_roles(state)), state);
  }

  [[nodiscard]] std::vector<Vector3> displacements(std::span<const Vector3> forces) const override {
    std::vector<Vector3> result;
    for (const Vector3& force : forces) result.emplace_back(model_.point_compliance * force);
    return result;
  }
};

}  // namespace

PairState swap_roles(const PairState& state) {
  const Vector6 V = exchange(state.X_AB) * state.V_AB.vector();
  return {.t = state.t, .X_AB = state.X_AB.inverse(), .V_AB = {.w = V.head<3>(), .v = V.tail<3>()}};
}

Response restore_roles(const Response& on_B, const PairState& state) {
  const Matrix3& R = state.X_AB.R;
  const Vector3& p = state.X_AB.p;
  const Matrix6 T = exchange(state.X_AB);
  const Vector3 force = R * on_B.F_A.force;
  const Vector3 torque = R * on_B.F_A.torque;
  Matrix6 to_A;  // opposite wrench, moved from B's origin to A's
  to_A << -R, -skew(p) * R, Matrix3::Zero(), -R;
  Response response = on_B;
  response.F_A = {.torque = -torque - p.cross(force), .force = -force};
  response.dF_A_dX = to_A * on_B.dF_A_dX * T;
  response.dF_A_dX.topLeftCorner<3, 3>() += skew(torque) + skew(p) * skew(force);
  response.dF_A_dX.topRightCorner<3, 3>() += skew(force);
  response.dF_A_dX.bottomLeftCorner<3, 3>() += skew(force);
  response.dF_A_dV = to_A * on_B.dF_A_dV * T;
  response.p_ACop = state.X_AB * on_B.p_ACop;
  response.bound.on_partner = !on_B.bound.on_partner;  // its points are those of the cloud
  return response;
}

double find_cloud_compliance(const SurfaceCompliance& body, double share) {
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < body.n_nodes(); ++i) {
    const Eigen::SelfAdjointEigenSolver<Matrix3> spectrum(body.self(i), Eigen::EigenvaluesOnly);
    smallest = std::min(smallest, spectrum.eigenvalues().x());
  }
  return share / 3.0 * smallest;
}

std::unique_ptr<ContactPairing> cloud_pairing(PairingModel model) {
  return std::make_unique<CloudPairing>(std::move(model));
}

}  // namespace heelstrike::fem
