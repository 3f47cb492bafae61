#include "fem_server/fem/rigid_motion.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

SixColumns centred_modes(const BodyModel& body) {
  Vector3 mean = Vector3::Zero();
  for (const Vector3& node : body.mesh().nodes) mean += node;
  mean /= static_cast<double>(body.mesh().nodes.size());
  double radius = 0.0;
  for (const Vector3& node : body.mesh().nodes) radius = std::max(radius, (node - mean).norm());
  SixColumns modes(static_cast<Eigen::Index>(body.n_dofs()), 6);
  for (std::size_t n = 0; n < body.mesh().nodes.size(); ++n) {
    const auto row = 3 * static_cast<Eigen::Index>(n);
    // Rotations about the mean of the nodes, scaled by the radius: entries of all six columns are of order one, and
    // translations couple weakly with rotations in R^T M R.
    modes.block<3, 3>(row, 0) = -skew((body.mesh().nodes[n] - mean) / radius);
    modes.block<3, 3>(row, 3) = Matrix3::Identity();
  }
  return modes;
}

InertiaModes inertia_modes(const BodyModel& body) {
  InertiaModes result{.modes = centred_modes(body), .loads = {}};
  const Eigen::MatrixXd MR = mass_times(body, result.modes);
  // Complete pivoting detects a body without mass; the cost of a 6x6 matrix is negligible.
  const Eigen::FullPivLU<Eigen::MatrixXd> mass(result.modes.transpose() * MR);
  if (!mass.isInvertible()) {
    throw input_error("density",
                      "inertia relief balances the load by the mass of the body; specify a density for its material");
  }
  result.loads = MR * mass.inverse();
  return result;
}

std::vector<std::int64_t> isostatic_dofs(const SixColumns& modes, std::span<const std::int64_t> candidates) {
  Eigen::Matrix<double, 6, Eigen::Dynamic> columns(6, static_cast<Eigen::Index>(candidates.size()));
  for (std::size_t i = 0; i < candidates.size(); ++i)
    columns.col(static_cast<Eigen::Index>(i)) = modes.row(candidates[i]).transpose();
  // Pivoting selects the dof with the largest component not yet constrained: these lie far apart and give a
  // well-conditioned support.
  const Eigen::ColPivHouseholderQR<Eigen::Matrix<double, 6, Eigen::Dynamic>> qr(columns);
  if (candidates.size() < 6 || qr.rank() < 6) {
    throw input_error("candidates",
                      "inertia relief needs at least three nodes that are not candidates; refine the mesh or "
                      "use fewer candidates");
  }
  std::vector<std::int64_t> dofs;
  for (Eigen::Index i = 0; i < 6; ++i) {
    dofs.push_back(candidates[static_cast<std::size_t>(qr.colsPermutation().indices()[i])]);
  }
  return dofs;
}

}  // namespace heelstrike::fem
