#include "fem_server/backends/fem_condensed/cloud_contact.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <limits>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/field_request.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

namespace {

/// Small motions and twists of A in B as functions of those of B in A, each in its own axes.
Matrix6 exchange(const Pose& X_AB) {
  const Matrix3 R_BA = X_AB.R.transpose();
  Matrix6 T;
  T << -R_BA, Matrix3::Zero(), -R_BA * skew(X_AB.p), -R_BA;
  return T;
}

/// Renames the partner to the body in errors of the solver, which uses swapped roles.
template <class Work>
auto translate_swapped_errors(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.field() != "partner_contact_direction") throw;
    throw input_error("contact_direction",
                      "points of the cloud touch the body outside its contact nodes; extend contact_set, contact_box "
                      "or contact_direction");
  }
}

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
  return response;
}

Response CloudContact::evaluate(const History& history, const PairState& state, const EvaluateOptions& options) const {
  return restore_roles(translate_swapped_errors([&] { return inner_->evaluate(history, swap_roles(state), options); }),
                       state);
}

Committed CloudContact::commit(const History& history, const PairState& state, const EvaluateOptions& options) const {
  Committed committed = translate_swapped_errors([&] { return inner_->commit(history, swap_roles(state), options); });
  committed.response = restore_roles(committed.response, state);
  return committed;
}

std::string CloudContact::fields(const History& history, const PairState& state, const FieldRequest& request) const {
  FieldRequest on_cloud = request;
  on_cloud.X_WA = request.X_WA * state.X_AB;
  if (request.part == FieldPart::main) return inner_->write_deformed_partner(history, swap_roles(state), on_cloud);
  FieldGrid grid{.points = {}, .nodes_per_cell = 1, .connectivity = {}};
  for (const Vector3& p : inner_->model().points) {
    grid.connectivity.push_back(static_cast<std::uint32_t>(grid.points.size()));
    grid.points.push_back(on_cloud.X_WA * p);
  }
  return write_fields(grid, {}, {part_of_cells(FieldPart::partner, grid.points.size())});
}

double find_cloud_compliance(const SurfaceCompliance& body, double share) {
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < body.n_nodes(); ++i) {
    const Eigen::SelfAdjointEigenSolver<Matrix3> spectrum(body.self(i), Eigen::EigenvaluesOnly);
    smallest = std::min(smallest, spectrum.eigenvalues().x());
  }
  return share / 3.0 * smallest;
}

}  // namespace heelstrike::fem
