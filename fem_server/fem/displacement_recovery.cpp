#include "fem_server/fem/displacement_recovery.hpp"

#include <Eigen/Dense>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/fem/rigid_motion.hpp"

namespace heelstrike::fem {

DisplacementRecovery::DisplacementRecovery(const BodyModel& body, Support support)
    : body_(body), support_(std::move(support)) {}

void DisplacementRecovery::factorize() const {
  std::vector<bool> fixed = clamped_dofs(body_, support_.clamped_nodes);
  if (support_.inertia_relief) {
    InertiaModes own = inertia_modes(body_);
    std::vector<std::int64_t> all(body_.n_dofs());
    for (std::size_t dof = 0; dof < all.size(); ++dof) all[dof] = static_cast<std::int64_t>(dof);
    // Selected from all dofs: no candidate block must be preserved here.
    for (const std::int64_t dof : isostatic_dofs(own.modes, all)) fixed[static_cast<std::size_t>(dof)] = true;
    modes_ = std::move(own.modes);
    mass_modes_ = std::move(own.loads);
  }
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < body_.n_dofs(); ++dof) {
    if (!fixed[dof]) free.push_back(static_cast<std::int64_t>(dof));
  }
  Elimination order(node_graph(body_), free, {});
  within_memory({}, factorisation_memory(order.size()), "factorising this body for displacement recovery", [&] {
    const SparseMatrix K = linear_stiffness(body_);
    auto factor = std::make_unique<SparseCholesky>(K, std::move(order));
    if (!factor->factorize(K)) {
      throw Error(ErrorCode::internal, "the stiffness matrix is singular after a successful condensation");
    }
    factor_ = std::move(factor);
  });
}

Eigen::VectorXd DisplacementRecovery::displacement(const Eigen::VectorXd& forces) const {
  const std::scoped_lock lock(mutex_);
  if (!factor_) factorize();
  if (!support_.inertia_relief) return factor_->solve(forces);
  // The load is balanced by rigid-body inertia, and the mean rigid motion is removed from the displacement: equation
  // (2) of docs/theory/contact_fem.md.
  const Eigen::VectorXd u = factor_->solve(balanced(modes_, mass_modes_, forces));
  return balanced(mass_modes_, modes_, u);
}

}  // namespace heelstrike::fem
