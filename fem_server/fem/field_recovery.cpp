#include "fem_server/fem/field_recovery.hpp"

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
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

namespace {

using Stress = Eigen::Matrix<double, 6, 1>;  // [Pa] xx yy zz xy yz zx

struct ElementMean {
  Stress integral = Stress::Zero();  // [Pa m^3]
  double volume = 0.0;               // [m^3]
};

ElementMean element_mean(const BodyModel& body, const StressColumns& stress, std::size_t e) {
  const ShapeTable& rule = body.reference().stiffness;
  const std::size_t n_points = rule.weights.size();
  ElementMean mean;
  for (std::size_t q = 0; q < n_points; ++q) {
    const double w = body.point_geometry(rule, e, q).weight;
    mean.integral += w * stress.col(static_cast<Eigen::Index>(e * n_points + q));
    mean.volume += w;
  }
  return mean;
}

Vector3 principal_stresses(const Stress& s) {
  Matrix3 tensor;
  tensor << s[0], s[3], s[5], s[3], s[1], s[4], s[5], s[4], s[2];
  return Eigen::SelfAdjointEigenSolver<Matrix3>(tensor, Eigen::EigenvaluesOnly).eigenvalues();
}

double von_mises(const Vector3& p) {
  return std::sqrt(0.5 *
                   ((p[0] - p[1]) * (p[0] - p[1]) + (p[1] - p[2]) * (p[1] - p[2]) + (p[2] - p[0]) * (p[2] - p[0])));
}

}  // namespace

NodalStress nodal_stress(const BodyModel& body, const StressColumns& stress) {
  const VolumeMesh& mesh = body.mesh();
  StressColumns sum = StressColumns::Zero(6, static_cast<Eigen::Index>(mesh.nodes.size()));
  std::vector<double> volume(mesh.nodes.size(), 0.0);
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const ElementMean mean = element_mean(body, stress, e);
    for (const std::uint32_t node : mesh.element(e)) {
      sum.col(node) += mean.integral;
      volume[node] += mean.volume;
    }
  }
  NodalStress result;
  for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
    const Vector3 p = principal_stresses(sum.col(static_cast<Eigen::Index>(n)) / volume[n]);
    result.principal.insert(result.principal.end(), {p[2], p[1], p[0]});
    result.von_mises.push_back(von_mises(p));
  }
  return result;
}

std::vector<double> element_von_mises(const BodyModel& body, const StressColumns& stress) {
  std::vector<double> result;
  for (std::size_t e = 0; e < body.mesh().n_elements(); ++e) {
    const ElementMean mean = element_mean(body, stress, e);
    result.push_back(von_mises(principal_stresses(mean.integral / mean.volume)));
  }
  return result;
}

}  // namespace heelstrike::fem
