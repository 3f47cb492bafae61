#include "fem_server/backends/fem_full/body_system.hpp"

#include <algorithm>
#include <limits>

#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

double rounding_of(const BodyModel& body) {
  double largest = 0.0;
  for (const Vector3& node : body.mesh().nodes) largest = std::max(largest, node.cwiseAbs().maxCoeff());
  // Strains are differences of positions, whose rounding moves a node by some units in its last place.
  return 64.0 * std::numeric_limits<double>::epsilon() * largest;
}

BodySystem::BodySystem(const BodyModel& body, const Support& support, const NodeGraph& graph,
                       const CondensedInterior* interior)
    : free_flight_(support.inertia_relief), n_dofs_(static_cast<Eigen::Index>(body.n_dofs())) {
  check_support(interior == nullptr ? support : interior->whole().support);
  enum class Role : unsigned char { free, fixed, last };
  std::vector<Role> roles(body.n_dofs() / 3, Role::free);
  for (const std::uint32_t node : support.clamped_nodes) roles[node] = Role::fixed;
  // The dense block of an interface is eliminated last: it causes no fill-in, because it is full already.
  for (const std::uint32_t node : interior == nullptr ? std::vector<std::uint32_t>{} : interior->interface()) {
    roles[node] = Role::last;
  }
  std::vector<std::int64_t> first, last, free;
  for (std::size_t dof = 0; dof < body.n_dofs(); ++dof) {
    const Role role = roles[dof / 3];
    (role == Role::fixed ? fixed_ : role == Role::last ? last : first).push_back(static_cast<std::int64_t>(dof));
    if (role != Role::fixed) free.push_back(static_cast<std::int64_t>(dof));
  }
  if (free_flight_ && interior == nullptr) {
    InertiaModes own = inertia_modes(body);
    modes_ = std::move(own.modes);
    mass_modes_ = std::move(own.loads);
  }
  if (free_flight_ && interior != nullptr) {
    modes_ = interior->layer_modes();
    mass_modes_ = interior->inertia_loads();
    inertia_compliance_ = interior->inertia_compliance();
  }
  if (free_flight_) isostatic_ = isostatic_dofs(modes_, free);
  order_.emplace(graph, first, last);
}

void BodySystem::analyse(const SparseMatrix& K) {
  if (!factor_) factor_.emplace(K, std::move(*order_));
}

bool BodySystem::factorize(SparseMatrix& K) {
  analyse(K);
  if (!free_flight_) return factor_->factorize(K);
  std::vector<double> diagonal;
  spring_ = 0.0;
  for (const std::int64_t dof : isostatic_) {
    diagonal.push_back(K.coeff(dof, dof));
    spring_ = std::max(spring_, diagonal.back());
  }
  for (const std::int64_t dof : isostatic_) K.coeffRef(dof, dof) += spring_;
  const bool good = factor_->factorize(K);
  for (std::size_t i = 0; i < isostatic_.size(); ++i) K.coeffRef(isostatic_[i], isostatic_[i]) = diagonal[i];
  if (!good) return false;
  Eigen::MatrixXd loads = Eigen::MatrixXd::Zero(K.rows(), 12);
  for (std::size_t i = 0; i < isostatic_.size(); ++i) loads(isostatic_[i], static_cast<Eigen::Index>(i)) = spring_;
  loads.rightCols<6>() = -mass_modes_;
  correction_ = factor_->solve(loads);
  Eigen::MatrixXd border(12, 12);
  for (std::size_t i = 0; i < isostatic_.size(); ++i) {
    border.row(static_cast<Eigen::Index>(i)) = -correction_.row(isostatic_[i]);
  }
  border.topLeftCorner<6, 6>() += Eigen::MatrixXd::Identity(6, 6);
  border.bottomRows<6>() = mass_modes_.transpose() * correction_;
  border.bottomRightCorner<6, 6>() -= inertia_compliance_;
  border_.compute(border);
  return border_.isInvertible();
}

Eigen::MatrixXd BodySystem::solve(const Eigen::MatrixXd& rhs) const {
  return solve(rhs, Eigen::MatrixXd::Zero(6, rhs.cols()));
}

Eigen::VectorXd BodySystem::step(const Eigen::VectorXd& rhs, const Eigen::VectorXd& u) const {
  if (!free_flight_) return factor_->solve(rhs);
  return solve(rhs, -(mass_modes_.transpose() * u));
}

Eigen::MatrixXd BodySystem::solve(const Eigen::MatrixXd& rhs, const Eigen::MatrixXd& mean) const {
  if (!free_flight_) return factor_->solve(rhs);
  Eigen::MatrixXd u = factor_->solve(rhs);
  Eigen::MatrixXd equilibrium_loads(12, rhs.cols());
  for (std::size_t i = 0; i < isostatic_.size(); ++i)
    equilibrium_loads.row(static_cast<Eigen::Index>(i)) = u.row(isostatic_[i]);
  equilibrium_loads.bottomRows<6>() = mean - mass_modes_.transpose() * u;
  u += correction_ * border_.solve(equilibrium_loads);
  return u;
}

SurfaceCompliance BodySystem::compliance(std::span<const std::uint32_t> nodes) const {
  const auto n = static_cast<Eigen::Index>(nodes.size());
  Eigen::MatrixXd C(3 * n, 3 * n);
  for_each_panel(n, [&](Eigen::Index first, Eigen::Index width) {
    Eigen::MatrixXd unit = Eigen::MatrixXd::Zero(n_dofs_, 3 * width);
    for (Eigen::Index j = 0; j < width; ++j) {
      const std::uint32_t node = nodes[static_cast<std::size_t>(first + j)];
      unit.block<3, 3>(3 * Eigen::Index{node}, 3 * j).setIdentity();
    }
    const Eigen::MatrixXd u = solve(unit);
    for (Eigen::Index i = 0; i < n; ++i) {
      const std::uint32_t node = nodes[static_cast<std::size_t>(i)];
      C.block(3 * i, 3 * first, 3, 3 * width) = u.middleRows(3 * Eigen::Index{node}, 3);
    }
  });
  std::vector<double> blocks(static_cast<std::size_t>(9 * n * n));
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < n; ++i) {
      Eigen::Map<Matrix3>(blocks.data() + 9 * (j * n + i)) =
          0.5 * (C.block<3, 3>(3 * i, 3 * j) + C.block<3, 3>(3 * j, 3 * i).transpose());
    }
  }
  return {nodes.size(), std::move(blocks)};
}

Eigen::MatrixXd BodySystem::effective(Eigen::MatrixXd load) const {
  if (free_flight_) return balanced(modes_, mass_modes_, load);
  for (const std::int64_t dof : fixed_) load.row(dof).setZero();
  return load;
}

double BodySystem::inertia_energy(const Eigen::VectorXd& load) const {
  if (!free_flight_) return 0.0;
  const Vector6 inertia = modes_.transpose() * load;
  return 0.5 * inertia.dot(inertia_compliance_ * inertia);
}

}  // namespace heelstrike::fem
