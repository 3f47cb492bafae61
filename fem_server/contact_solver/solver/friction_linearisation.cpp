#include "fem_server/contact_solver/solver/friction_linearisation.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/fem/gmres.hpp"

namespace heelstrike::fem {

namespace {

/// Maximum directions for one right-hand side, over all repetitions; beyond, the whole matrix is factorised.
constexpr Eigen::Index max_gmres_iterations = 60;
/// Accuracy of approximate products: their errors, up to 1.5e-5 of the diagonal in each entry, have a norm of about
/// 7e-4 of the diagonal for two thousand rows.
constexpr double rough_tolerance = 2e-3;
/// The same with both halves, and
constexpr double fine_tolerance = 1e-5;
/// the maximum ratio of residuals of a repetition, above which the method changes.
constexpr double max_residual_ratio = 0.2;
/// For the inverse of a committed state; each pass gains two to four digits.
constexpr int n_inverse_iterations = 4;
/// Inverse of the fraction of different nodes from which a factor is recomputed: each costs about one direction.
constexpr std::size_t refactor_fraction = 50;

std::size_t n_different(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::size_t common = 0;
  auto it = b.begin();
  for (const std::uint32_t i : a) {
    while (it != b.end() && *it < i) ++it;
    if (it != b.end() && *it == i) ++common;
  }
  return a.size() + b.size() - 2 * common;
}

/// Removes from v its part in the first n columns of W. @return W^T v
Eigen::VectorXd orthogonalise(const Eigen::MatrixXd& W, Eigen::Index n, Eigen::VectorXd& v) {
  Eigen::VectorXd h(n);
  multiply_transposed(W.leftCols(n), v, h);
  subtract_product(W.leftCols(n), h, v);
  return h;
}

}  // namespace

void DirectionFactors::match(const LocalCompliance& B, const std::vector<NodeLinearisation>& nodes) {
  for (int direction = 0; direction < 3; ++direction) {
    Factor& factor = factors_[static_cast<std::size_t>(direction)];
    factor.requested.clear();
    factor.own.clear();
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (direction == 0 ? !nodes[i].active : !nodes[i].sticks()) continue;
      factor.requested.push_back(i);
      factor.own.push_back(double{B.own(i)(direction, direction)});
    }
    // The factor of a nearly equal node set is still a good preconditioner: its error has the rank of the difference,
    // and each rank costs about one more direction of conjugate residuals.
    if (n_different(factor.requested, factor.members) > factor.requested.size() / refactor_fraction) {
      factor.members = factor.requested;
      if (!factor.cholesky.factorize(B.part(direction, factor.members))) {
        throw RecoverableError("singular system in the friction solver; use a smaller step");
      }
    }
    factor.place.clear();
    std::size_t k = 0;
    for (const std::uint32_t i : factor.requested) {
      while (k < factor.members.size() && factor.members[k] < i) ++k;
      const bool there = k < factor.members.size() && factor.members[k] == i;
      factor.place.push_back(there ? static_cast<std::int32_t>(k) : -1);
    }
  }
}

void DirectionFactors::solve(int direction, const Eigen::VectorXd& r, Eigen::VectorXd& x) const {
  const Factor& factor = factors_[static_cast<std::size_t>(direction)];
  Eigen::VectorXf padded = Eigen::VectorXf::Zero(static_cast<Eigen::Index>(factor.members.size()));
  for (std::size_t a = 0; a < factor.requested.size(); ++a) {
    if (factor.place[a] >= 0) padded[factor.place[a]] = static_cast<float>(r[row_of(factor.requested[a]) + direction]);
  }
  factor.cholesky.solve(padded);
  for (std::size_t a = 0; a < factor.requested.size(); ++a) {
    const Eigen::Index row = row_of(factor.requested[a]) + direction;
    x[row] = factor.place[a] >= 0 ? double{padded[factor.place[a]]} : r[row] / factor.own[a];
  }
}

FrictionSystem::FrictionSystem(const LocalCompliance& B, std::vector<NodeLinearisation> nodes,
                               DirectionFactors& factors)
    : B_(B), nodes_(std::move(nodes)), factors_(&factors), sliding_inverse_(nodes_.size(), Eigen::Matrix2d::Zero()) {
  factors_->match(B_, nodes_);
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (!nodes_[a].active || nodes_[a].sticks()) continue;
    // For a sliding node the projection turns its tangential rows into a nearly local relation of slip and traction
    // (E = (1 - P) / rho is as large as its own compliance), so its own block is a sufficient factor.
    const Eigen::Matrix2d own = B_.own(a).bottomRightCorner<2, 2>().cast<double>();
    const Eigen::Matrix2d J = nodes_[a].S.bottomRightCorner<2, 2>() * own + nodes_[a].E.bottomRightCorner<2, 2>();
    sliding_inverse_[a] = J.inverse();
  }
}

FrictionSystem::FrictionSystem(const CommittedFriction& committed, std::vector<NodeLinearisation> nodes)
    : B_(committed.B()), nodes_(std::move(nodes)), inverse_(std::make_unique<CommittedInverse>(committed, nodes_)) {}

template <class Fields>
Fields FrictionSystem::apply(const Fields& x, Fields Bx) const {
  Fields& y = Bx;
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    const Eigen::Index row = row_of(a);
    if (!nodes_[a].active) {
      y.template middleRows<3>(row).setZero();
    } else if (nodes_[a].slides) {
      y.template middleRows<3>(row) =
          (nodes_[a].S * y.template middleRows<3>(row) + nodes_[a].E * x.template middleRows<3>(row)).eval();
    }
  }
  return Bx;
}

Eigen::VectorXd FrictionSystem::precondition(const Eigen::VectorXd& r) const {
  if (inverse_ != nullptr) return inverse_->solve(r);
  return apply_preconditioner(r);
}

Eigen::VectorXd FrictionSystem::apply_preconditioner(const Eigen::VectorXd& r) const {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(r.size());
  for (int direction = 0; direction < 3; ++direction) factors_->solve(direction, r, x);
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (!nodes_[a].active || nodes_[a].sticks()) continue;
    // The bound of a sliding traction depends on the normal force, which is known here: block forward substitution.
    const Eigen::Index row = row_of(a);
    x.segment<2>(row + 1) =
        sliding_inverse_[a] * (r.segment<2>(row + 1) - nodes_[a].E.bottomLeftCorner<2, 1>() * x[row]);
  }
  return x;
}

bool FrictionSystem::add_direction(const Eigen::VectorXd& z) {
  const Eigen::Index n = n_directions_;
  if (n == W_.cols()) {
    const Eigen::Index capacity = std::max<Eigen::Index>(16, 2 * n);
    Z_.conservativeResize(z.size(), capacity);
    W_.conservativeResize(z.size(), capacity);
    R_.conservativeResize(capacity, capacity);
  }
  Eigen::VectorXd w = apply(z, full_precision_ ? B_.product(z) : B_.approximate_product(z));
  const double before = w.norm();
  R_.col(n).head(n) = orthogonalise(W_, n, w);
  // Repeated after cancellation: the remainder is otherwise not orthogonal enough.
  if (w.norm() < 1e-3 * before) R_.col(n).head(n) += orthogonalise(W_, n, w);
  // A remainder this small after two passes is rounding: the direction is linearly dependent on the previous ones.
  const double length = w.norm();
  if (!(length > 1e-10 * before)) return false;
  R_(n, n) = length;
  W_.col(n) = w / length;
  Z_.col(n) = z;
  ++n_directions_;
  return true;
}

bool FrictionSystem::solve_by_residuals(const Eigen::VectorXd& rhs, double tolerance, Eigen::Index last,
                                        Eigen::Ref<Eigen::VectorXd> x) {
  // J Z = W R with orthonormal W: the part of the residual in the span of W is removed by coefficients W^T r, without a
  // product with J. This is why right-hand sides of one J share their directions.
  const double target = tolerance * rhs.norm();
  Eigen::VectorXd residual = rhs;
  Eigen::VectorXd share = orthogonalise(W_, n_directions_, residual);
  while (residual.norm() > target) {
    if (n_directions_ == last || !add_direction(precondition(residual))) return false;
    const Eigen::Index newest = n_directions_ - 1;
    share.conservativeResize(n_directions_);
    share[newest] = W_.col(newest).dot(residual);
    residual -= share[newest] * W_.col(newest);
  }
  if (n_directions_ == 0) return true;
  R_.topLeftCorner(n_directions_, n_directions_).triangularView<Eigen::Upper>().solveInPlace(share);
  x.noalias() = Z_.leftCols(n_directions_) * share;
  return true;
}

bool FrictionSystem::solve_refined(const Eigen::VectorXd& rhs, double tolerance, Eigen::Ref<Eigen::VectorXd> x) {
  const double target = tolerance * rhs.norm();
  Eigen::VectorXd residual = rhs;
  Eigen::VectorXd change = Eigen::VectorXd::Zero(rhs.size());
  Eigen::Index last = n_directions_ + std::min(max_gmres_iterations, rhs.size());
  double left = residual.norm();
  while (left > target) {
    // Below `step` the residual of the directions is that of another matrix, the rounded one: further solving would
    // gain nothing, so the true residual is evaluated and solved for.
    const double requested = target / left;
    const double step = full_precision_ ? fine_tolerance : rough_tolerance;
    if (!solve_by_residuals(residual, std::max(requested, step), last, change)) return false;
    x += change;
    if (requested >= step) return true;
    residual = rhs - apply<Eigen::VectorXd>(x, B_.product(x));
    const double before = std::exchange(left, residual.norm());
    if (left <= max_residual_ratio * before) continue;
    // B is too ill-conditioned for its upper halves: points of a cloud that the body's nodes do not distinguish.
    if (full_precision_) return false;
    full_precision_ = true;
    n_directions_ = 0;
    last = std::min(max_gmres_iterations, rhs.size());
  }
  return true;
}

bool FrictionSystem::solve_by_factor(const Eigen::VectorXd& rhs, double tolerance, Eigen::Ref<Eigen::VectorXd> x) {
  Eigen::MatrixXd J = B_.dense();
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (!nodes_[a].active) {
      J.middleRows<3>(row_of(a)).setZero();
      J.middleCols<3>(row_of(a)).setZero();
      J.block<3, 3>(row_of(a), row_of(a)).setIdentity();
      continue;
    }
    J.middleRows<3>(row_of(a)) = (nodes_[a].S * J.middleRows<3>(row_of(a))).eval();
    J.block<3, 3>(row_of(a), row_of(a)) += nodes_[a].E;
  }
  int n_steps = 0;
  SingleLu factor;
  if (!factor.factorize(J.cast<float>())) return false;
  return gmres([&](const Eigen::VectorXd& v) -> Eigen::VectorXd { return apply(v, B_.product(v)); },
               [&](const Eigen::VectorXd& r) -> Eigen::VectorXd {
                 Eigen::MatrixXf z = r.cast<float>();
                 factor.solve(z);
                 return z.cast<double>();
               },
               rhs, tolerance, max_gmres_iterations, x, n_steps);
}

bool FrictionSystem::solve_by_inverse(const Eigen::MatrixXd& rhs, double tolerance, Solution& solution) const {
  const Eigen::RowVectorXd target = tolerance * rhs.colwise().norm();
  Eigen::MatrixXd left = rhs;
  solution = {.x = Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols()), .Bx = Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols())};
  Eigen::RowVectorXd before = rhs.colwise().norm();
  for (int pass = 0; pass < n_inverse_iterations; ++pass) {
    const Eigen::MatrixXd change = inverse_->solve(left);
    solution.x += change;
    solution.Bx += B_.products(change);
    left = rhs - apply(solution.x, solution.Bx);
    const Eigen::RowVectorXd now = left.colwise().norm();
    if ((now.array() <= target.array()).all()) return true;
    // If nodes were added since the commit, conjugate residuals are more efficient.
    if ((now.array() > max_residual_ratio * before.array()).any()) return false;
    before = now;
  }
  return false;
}

FrictionSystem::Solution FrictionSystem::solve(const Eigen::MatrixXd& rhs, double tolerance) {
  Eigen::MatrixXd own = rhs;
  for (std::size_t a = 0; a < nodes_.size(); ++a) {
    if (!nodes_[a].active) own.middleRows<3>(row_of(a)).setZero();
  }
  Solution solution;
  if (inverse_ != nullptr && solve_by_inverse(own, tolerance, solution)) return solution;
  Eigen::MatrixXd& x = solution.x;
  x = Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols());
  for (Eigen::Index column = 0; column < rhs.cols(); ++column) {
    const bool good = solve_refined(own.col(column), tolerance, x.col(column));
    if (good) continue;
    x.col(column).setZero();
    if (solve_by_factor(own.col(column), tolerance, x.col(column))) continue;
    throw RecoverableError("nearly singular system in the friction solver; use a smaller step");
  }
  solution.Bx = B_.products(x);
  return solution;
}

}  // namespace heelstrike::fem
