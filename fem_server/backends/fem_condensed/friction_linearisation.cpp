#include "fem_server/backends/fem_condensed/friction_linearisation.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/fem/gmres.hpp"

namespace heelstrike::fem {

namespace {

/// Largest number of GMRES steps of one system.
constexpr Eigen::Index step_limit = 40;

/// GMRES steps before the matrix is factored anew: about half the cost of the factorisation.
Eigen::Index patience(Eigen::Index n_rows) {
  return std::clamp<Eigen::Index>(n_rows / 60, 6, 20);
}

/// Difference of S from which a node counts as changed; each costs GMRES about two steps.
constexpr double state_change = 0.2;
/// Share of the nodes that a reference must know to be worth trying.
constexpr double least_overlap = 0.7;

Eigen::Index row_of(std::size_t node) {
  return 3 * static_cast<Eigen::Index>(node);
}

}  // namespace

Eigen::MatrixXd local_compliance(std::span<const NodeLinearisation> nodes, const BlockPart& C) {
  Eigen::MatrixXd B(row_of(nodes.size()), row_of(nodes.size()));
  Eigen::Matrix<double, Eigen::Dynamic, 3> columns(C.matrix->rows(), 3);
  for (std::size_t b = 0; b < nodes.size(); ++b) {
    columns.noalias() = C.matrix->middleCols<3>(row_of(C.members[b])) * nodes[b].frame;
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      B.block<3, 3>(row_of(a), row_of(b)).noalias() =
          nodes[a].frame.transpose() * columns.middleRows<3>(row_of(C.members[a]));
    }
  }
  return B;
}

FrictionReference::FrictionReference(std::vector<std::uint32_t> candidates, std::vector<NodeLinearisation> nodes,
                                     const BlockPart& C)
    : candidates_(std::move(candidates)), nodes_(std::move(nodes)) {
  Eigen::MatrixXd J = local_compliance(nodes_, C);
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (!nodes_[a].S.isIdentity(0.0)) J.middleRows<3>(row_of(a)) = (nodes_[a].S * J.middleRows<3>(row_of(a))).eval();
    J.block<3, 3>(row_of(a), row_of(a)) += nodes_[a].E;
  }
  if (!factor_.factorize(J)) {
    throw RecoverableError("the friction solver met a singular system; take a smaller step");
  }
}

FrictionSystem::FrictionSystem(BlockPart C, std::vector<std::uint32_t> candidates, std::vector<NodeLinearisation> nodes,
                               std::shared_ptr<const FrictionReference> reference)
    : C_(std::move(C)), candidates_(std::move(candidates)), nodes_(std::move(nodes)), reference_(std::move(reference)) {
  match_reference();
}

void FrictionSystem::match_reference() {
  place_.assign(candidates_.size(), -1);
  if (reference_ == nullptr) return;
  local_inverse_.assign(candidates_.size(), Matrix3::Zero());
  const auto& known = reference_->candidates();
  std::size_t n_known = 0;
  Eigen::Index n_changed = 0;
  std::size_t k = 0;
  for (std::size_t a = 0; a < candidates_.size(); ++a) {
    while (k < known.size() && known[k] < candidates_[a]) ++k;
    if (k < known.size() && known[k] == candidates_[a]) {
      place_[a] = static_cast<std::int32_t>(k);
      ++n_known;
      const Matrix3& before = reference_->nodes()[k].S;
      if ((nodes_[a].S - before).cwiseAbs().maxCoeff() > state_change) ++n_changed;
      continue;
    }
    const Matrix3& F = nodes_[a].frame;
    const Matrix3 own = nodes_[a].S * (F.transpose() * C_.block(a, a) * F) + nodes_[a].E;
    local_inverse_[a] = own.inverse();
  }
  const auto n = static_cast<Eigen::Index>(candidates_.size());
  const bool overlaps = static_cast<double>(n_known) >= least_overlap * static_cast<double>(n);
  if (!overlaps || n_changed > patience(3 * n) / 2) reference_.reset();
}

void FrictionSystem::factor_anew() {
  reference_ = fresh_reference();
  fresh_ = true;
  match_reference();
}

std::shared_ptr<const FrictionReference> FrictionSystem::fresh_reference() const {
  return std::make_shared<const FrictionReference>(candidates_, nodes_, C_);
}

Eigen::MatrixXd FrictionSystem::apply(const Eigen::MatrixXd& x) const {
  Eigen::MatrixXd forces(x.rows(), x.cols());
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    forces.middleRows<3>(row_of(a)) = nodes_[a].frame * x.middleRows<3>(row_of(a));
  }
  Eigen::MatrixXd u = C_.times(forces);
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    u.middleRows<3>(row_of(a)) = (nodes_[a].S * (nodes_[a].frame.transpose() * u.middleRows<3>(row_of(a))) +
                                  nodes_[a].E * x.middleRows<3>(row_of(a)))
                                     .eval();
  }
  return u;
}

Eigen::MatrixXd FrictionSystem::precondition(const Eigen::MatrixXd& r) const {
  Eigen::MatrixXf padded = Eigen::MatrixXf::Zero(reference_->factor().size(), r.cols());
  // Single precision holds no residual below 1e-38: each column is scaled to one.
  Eigen::RowVectorXd scale = r.colwise().norm();
  for (double& s : scale) s = s > 0.0 ? s : 1.0;
  for (std::size_t a = 0; a < place_.size(); ++a) {
    if (place_[a] < 0) continue;
    padded.middleRows<3>(3 * place_[a]) =
        (r.middleRows<3>(row_of(a)).array().rowwise() / scale.array()).cast<float>().matrix();
  }
  reference_->factor().solve(padded);
  Eigen::MatrixXd x(r.rows(), r.cols());
  for (std::size_t a = 0; a < place_.size(); ++a) {
    if (place_[a] < 0) {
      x.middleRows<3>(row_of(a)) = local_inverse_[a] * r.middleRows<3>(row_of(a));
    } else {
      x.middleRows<3>(row_of(a)) =
          (padded.middleRows<3>(3 * place_[a]).cast<double>().array().rowwise() * scale.array()).matrix();
    }
  }
  return x;
}

bool FrictionSystem::gmres(const Eigen::VectorXd& rhs, double tolerance, Eigen::Index limit,
                           Eigen::Ref<Eigen::VectorXd> x) {
  return fem::gmres([&](const Eigen::VectorXd& v) -> Eigen::VectorXd { return apply(v); },
                    [&](const Eigen::VectorXd& r) -> Eigen::VectorXd { return precondition(r); }, rhs, tolerance, limit,
                    x, iterations_);
}

Eigen::MatrixXd FrictionSystem::solve(const Eigen::MatrixXd& rhs, double tolerance) {
  if (reference_ == nullptr) factor_anew();
  // All columns at once while the steps converge well; then one by one, with a better method.
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols());
  if (rhs.cols() > 1) {
    const Eigen::RowVectorXd target = tolerance * rhs.colwise().norm();
    Eigen::MatrixXd residual = rhs;
    double before = residual.norm();
    while ((residual.colwise().norm().array() > target.array()).any()) {
      ++iterations_;
      const Eigen::MatrixXd next = x + precondition(residual);
      residual = rhs - apply(next);
      const double now = residual.norm();
      if (!(now < 0.6 * before)) break;
      x = next;
      before = now;
    }
  }
  for (Eigen::Index column = 0; column < rhs.cols(); ++column) {
    const Eigen::Index limit = fresh_ ? step_limit : patience(rhs.rows());
    if (gmres(rhs.col(column), tolerance, limit, x.col(column))) continue;
    if (!fresh_) {
      factor_anew();
      if (gmres(rhs.col(column), tolerance, step_limit, x.col(column))) continue;
    }
    throw RecoverableError("the friction solver met a nearly singular system; take a smaller step");
  }
  return x;
}

}  // namespace heelstrike::fem
