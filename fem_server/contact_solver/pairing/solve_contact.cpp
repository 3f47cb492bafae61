#include "fem_server/contact_solver/pairing/solve_contact.hpp"

#include <algorithm>

#include "fem_server/backend_interface/slip.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

NodeFields<1> active_forces(const PairedContact& contact) {
  NodeFields<1> forces(row_of(contact.nodes.size()));
  for (std::size_t a = 0; a < contact.nodes.size(); ++a) forces.segment<3>(row_of(a)) = contact.nodes[a].force();
  return forces;
}

void add_active(std::uint32_t near, double lambda, const Vector3& traction, PairedContact& contact) {
  ContactNodeState node = contact.point_state(near);
  node.lambda = lambda;
  node.traction = traction;
  node.area = contact.areas[near];
  contact.touching.push_back(contact.near_candidates[near]);
  contact.contact_positions.push_back(near);
  contact.nodes.push_back(node);
}

/// Displacements of the active points due to the rotation of their forces with the pose: d u / d X at fixed force
/// components, three rows per point.
Eigen::MatrixXd rotated_displacements(const NodeBlocks& blocks, const FrictionContact& found,
                                      const std::vector<ContactNodeState>& nodes, const Vector3& p_AB) {
  NodeFields<8> forces = NodeFields<8>::Zero(row_of(nodes.size()), 8);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    forces.block<3, 6>(row_of(i), 0) = force_rotation(nodes[i], p_AB);
  }
  if (found.committed) {
    Eigen::MatrixXd result = Eigen::MatrixXd::Zero(forces.rows(), 6);
    const Eigen::Index n = forces.rightCols<5>().isZero(0.0) ? 3 : 6;
    result.leftCols(n) = active_displacements(found, forces.leftCols(n));
    return result;
  }
  if (forces.rightCols<5>().isZero(0.0)) {  // a plane
    Eigen::MatrixXd result = Eigen::MatrixXd::Zero(forces.rows(), 6);
    result.leftCols<3>() =
        displacement<4>(blocks.compliance(), blocks.numbers(), NodeFields<4>(forces.leftCols<4>())).leftCols<3>();
    return result;
  }
  return displacement<8>(blocks.compliance(), blocks.numbers(), forces).leftCols<6>();
}

/// For a deformable partner: forces of the active points times its compliance, and the same for forces rotated about
/// the axes of A.
class PartnerDisplacements {
 public:
  PartnerDisplacements(const Eigen::MatrixXd& C_B, const std::vector<ContactNodeState>& nodes) : b_(C_B.rows(), 4) {
    Eigen::MatrixXd forces(C_B.rows(), 4);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Vector3 f = nodes[i].force();
      forces.block<3, 1>(row_of(i), 0) = f;
      forces.block<3, 3>(row_of(i), 1) = -skew(f);
    }
    multiply(C_B, forces, b_);
  }
  [[nodiscard]] Vector3 by_forces(std::size_t i) const { return b_.block<3, 1>(row_of(i), 0); }
  /// d / d X of the partner's compliance times constant forces: the compliance rotates with B.
  [[nodiscard]] Matrix36 by_rotation(std::size_t i) const {
    Matrix36 result = Matrix36::Zero();
    result.leftCols<3>() = -skew(by_forces(i)) - b_.block<3, 3>(row_of(i), 1);
    return result;
  }

 private:
  Eigen::MatrixXd b_;
};

/// Adds the rotation of a deformable partner's compliance to the derivatives at fixed force components.
void rotate_partner(const PairedContact& contact, Eigen::MatrixXd& rotated) {
  if (!contact.has_deformable_partner()) return;
  const PartnerDisplacements moved(gathered(contact.partner_share, contact.contact_positions), contact.nodes);
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) rotated.middleRows<3>(row_of(i)) += moved.by_rotation(i);
}

/// Traction of a point at the commit, relative to the current normal.
SlipStep slip_before(const CommittedContact& committed, const PairState& state, double friction,
                     std::uint32_t candidate, const Vector3& normal) {
  const CommittedNode* node = committed.find(candidate);
  if (node == nullptr || !committed.X_AB) return {};
  const Vector3 force = state.X_AB.R * (committed.X_AB->R.transpose() * node->force);  // rotates with the surface of B
  const double pushing = normal.dot(force);
  return {.traction = force - pushing * normal, .limit_before = friction * std::max(pushing, 0.0)};
}

/// Active points, and the work and speed of those that slide.
void take(const FrictionContact& found, const CommittedContact& committed, const PairState& state, double friction,
          PairedContact& contact) {
  contact.discard_solution();
  contact.statistics.iterations += found.iterations;
  contact.statistics.residual = found.residual;
  SlipSpeed slip_speed;
  for (std::size_t a = 0; a < found.active.size(); ++a) {
    const double lambda = found.lambda[static_cast<Eigen::Index>(a)];
    add_active(found.active[a], lambda, found.traction[a], contact);
    contact.stick_point_in_A.push_back(found.sliding[a] ? std::optional<Vector3>() : found.stick_points[a].p_AP);
    ContactNodeState& node = contact.nodes.back();
    node.u = found.u[a];
    SlipStep slipping = slip_before(committed, state, friction, contact.touching.back(), node.surface.normal);
    slip_speed.add(slipping.traction, slipping.limit_before, point_velocity(state.V_AB, node.x - state.X_AB.p));
    if (!found.sliding[a]) continue;
    slipping.trial = found.traction[a] - found.rho[a] * found.slip[a];
    slipping.limit = friction * lambda;
    slipping.slip = found.slip[a].norm();
    contact.dissipated += slip_work(slipping);
  }
  contact.slip_speed = slip_speed.value();
  contact.found = found.found;
}

}  // namespace

void take(const NormalContact& found, PairedContact& contact) {
  contact.discard_solution();
  contact.statistics.iterations += found.iterations;
  contact.statistics.residual = found.residual;
  contact.penalty_energy = found.penalty_energy;
  for (std::size_t a = 0; a < found.active.size(); ++a) {
    add_active(found.active[a], found.lambda[static_cast<Eigen::Index>(a)], Vector3::Zero(), contact);
    contact.nodes.back().u = found.u.segment<3>(row_of(a));
    contact.stick_point_in_A.emplace_back(std::nullopt);
  }
  contact.found = {{.positions = found.active, .u = found.u}, found.outside};
}

void solve_frictionless(const PairState& state, const ContactOptions& options, bool tangents, PairedContact& contact,
                        const ContactPairing* pairing) {
  NormalTask task{.compliance = &contact.compliance(), .near = &contact.near};
  if (tangents) {
    task.rotation = [&](std::uint32_t near) { return normal_rotation(contact.point_state(near), state.X_AB.p); };
  }
  NormalContact found = solve_normal_contact(task);
  take(found, contact);
  if (contact.nodes.empty() || !tangents) return;
  rotate_partner(contact, found.rotated);
  const auto motion = pairing != nullptr ? pairing->point_motion(state, contact) : std::nullopt;
  // The change of the gap enters as a displacement along the normal.
  const auto along_normal = [&](std::size_t i) -> Matrix36 { return contact.nodes[i].surface.normal * motion->gap[i]; };
  for (std::size_t i = 0; motion && i < contact.nodes.size(); ++i) {
    found.rotated.middleRows<3>(row_of(i)) += motion->u[i] + along_normal(i);
  }
  // With one common factor on all forces, the displacements of single nodes are not needed.
  const bool each = options.hysteresis_factor > 0.0 || contact.has_deformable_partner();
  const NodeBlocks blocks(contact.compliance(), contact.near, found.active);
  contact.derivatives = frictionless_derivatives(contact.nodes, found, found.rotated, state.X_AB.p,
                                                 each ? &blocks.compliance() : nullptr, blocks.numbers());
  if (!motion) return;
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) contact.derivatives.u[i] += motion->x[i] - along_normal(i);
  contact.derivatives.normal = motion->normal;
  contact.derivatives.u_B = motion->u_B;
}

FrictionProblem friction_problem(const ContactPairing& pairing, const CommittedContact& committed,
                                 const PairState& state, const PairedContact& contact) {
  FrictionProblem problem;
  problem.friction = pairing.model().options.friction;
  problem.R_AB = state.X_AB.R;
  problem.positions = contact.points;
  problem.stick_point = pairing.stick_points(committed, state, contact);
  problem.near = contact.near;
  return problem;
}

void solve_with_friction(const ContactPairing& pairing, const CommittedContact& committed, const PairState& state,
                         bool tangents, bool warm_start, PairedContact& contact) {
  FrictionProblem problem = friction_problem(pairing, committed, state, contact);
  if (warm_start) problem.committed = pairing.committed_friction(committed, contact);
  const FrictionContact found = solve_friction_contact(contact.compliance(), problem);
  take(found, committed, state, problem.friction, contact);
  if (contact.nodes.empty() || !tangents) return;
  const NodeBlocks blocks(contact.compliance(), contact.near, found.active);
  Eigen::MatrixXd rotated = rotated_displacements(blocks, found, contact.nodes, state.X_AB.p);
  rotate_partner(contact, rotated);
  std::vector<Matrix36> by_rotation;
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) by_rotation.emplace_back(rotated.middleRows<3>(row_of(i)));
  contact.derivatives =
      friction_derivatives(problem, found, contact.nodes, by_rotation, state.X_AB.p, contact.compliance());
}

void displace_by_share(const PairState& state, PairedContact& contact) {
  const Eigen::MatrixXd C_B = gathered(contact.partner_share, contact.contact_positions);
  const PartnerDisplacements moved(C_B, contact.nodes);
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) contact.nodes[i].u_B = -moved.by_forces(i);
  if (contact.derivatives.lambda.empty()) return;
  Eigen::MatrixXd dforces(C_B.rows(), 6);
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) {
    const ContactNodeState& node = contact.nodes[i];
    dforces.middleRows<3>(row_of(i)) = node.surface.normal * contact.derivatives.lambda[i] +
                                       node.lambda * normal_rotation(node, state.X_AB.p) +
                                       contact.derivatives.traction[i];
  }
  Eigen::MatrixXd du(C_B.rows(), 6);
  multiply(C_B, dforces, du);
  contact.derivatives.u_B.resize(contact.nodes.size(), Matrix36::Zero());
  for (std::size_t i = 0; i < contact.nodes.size(); ++i) {
    contact.derivatives.u_B[i] -= du.middleRows<3>(row_of(i)) + moved.by_rotation(i);
  }
}

std::vector<Vector3> near_displacements(const PairedContact& contact) {
  std::vector<Vector3> result(contact.near.nodes.size());
  std::vector<bool> known(result.size(), false);
  for (const NodeMotion& motion : contact.found) {
    for (std::size_t k = 0; k < motion.positions.size(); ++k) {
      result[motion.positions[k]] = motion.u.segment<3>(row_of(k));
      known[motion.positions[k]] = true;
    }
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < result.size(); ++i) {
    if (!known[i]) missing.push_back(i);
  }
  const NodeFields<1> u = displacement(contact.compliance(), contact.near.candidates(missing),
                                       contact.near.candidates(contact.contact_positions), active_forces(contact));
  for (std::size_t k = 0; k < missing.size(); ++k) result[missing[k]] = u.segment<3>(row_of(k));
  return result;
}

std::vector<CommittedNode> committed_nodes(const PairedContact& contact, const std::vector<Vector3>& candidates,
                                           const PairState& state) {
  const std::vector<Vector3> u = near_displacements(contact);
  const Pose X_BA = state.X_AB.inverse();
  std::vector<CommittedNode> committed;
  std::size_t a = 0;
  for (std::size_t i = 0; i < contact.near.nodes.size(); ++i) {
    CommittedNode entry;
    entry.node = contact.near_candidates[i];
    entry.u = u[i];
    const Vector3 to_node = X_BA.R * (candidates[entry.node] - contact.points[i]);  // zero where points are candidates
    entry.p_BStick = X_BA * (candidates[entry.node] + entry.u);
    if (a < contact.touching.size() && contact.touching[a] == entry.node) {
      entry.force = contact.nodes[a].force();
      if (contact.stick_point_in_A[a]) entry.p_BStick = X_BA * *contact.stick_point_in_A[a] + to_node;
      ++a;
    }
    committed.push_back(entry);
  }
  return committed;
}

}  // namespace heelstrike::fem
