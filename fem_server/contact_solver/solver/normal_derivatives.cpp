#include "fem_server/contact_solver/solver/normal_derivatives.hpp"

#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

namespace {

Eigen::Index first_of(std::size_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

}  // namespace

NodeDerivatives frictionless_derivatives(const std::vector<ContactNodeState>& nodes, const NormalContact& contact,
                                         const Eigen::MatrixXd& rotated, const Vector3& p_AB,
                                         const SurfaceCompliance* compliance, std::span<const std::uint32_t> numbers) {
  const auto m = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd dlambda(m, 6);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    dlambda.row(static_cast<Eigen::Index>(i)) =
        gap_wrench(nodes[i], p_AB).transpose() -
        nodes[i].surface.normal.transpose() * rotated.middleRows<3>(first_of(i));
  }
  solve_lower(contact.factor, dlambda);
  solve_lower_transposed(contact.factor, dlambda);
  NodeDerivatives derivatives;
  NodeFields<8> forces = NodeFields<8>::Zero(3 * m, 8);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    forces.block<3, 6>(3 * row, 0) = nodes[i].surface.normal * dlambda.row(row);
    derivatives.lambda.emplace_back(dlambda.row(row));
    derivatives.traction.emplace_back(Matrix36::Zero());
  }
  if (compliance == nullptr) {
    // sum lambda D^T du = (C Lambda D)^T (N dlambda + Lambda D): the compliance is symmetric.
    derivatives.rotation_work.setZero();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Matrix36 df = forces.block<3, 6>(first_of(i), 0) + nodes[i].lambda * normal_rotation(nodes[i], p_AB);
      derivatives.rotation_work += rotated.middleRows<3>(first_of(i)).transpose() * df;
    }
    return derivatives;
  }
  const NodeFields<8> u = displacement<8>(*compliance, numbers, forces);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    derivatives.u.emplace_back(u.block<3, 6>(first_of(i), 0) + rotated.middleRows<3>(first_of(i)));
  }
  return derivatives;
}

}  // namespace heelstrike::fem
