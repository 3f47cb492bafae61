#include "common/friction/solve_friction.hpp"

#include <Eigen/LU>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// The problem scaled by the mean diagonal of W: reactions are multiplied by that mean, so that reactions and motions
/// are comparable, and steps and regularisations dimensionless. W is stored as contiguous blocks by rows of contacts,
/// with separate diagonal blocks.
/// @tparam d  components per contact: 2 or 3
template <int d>
class Blocks {
 public:
  using Block = Eigen::Matrix<double, d, d>;
  using Vector = Eigen::Matrix<double, d, 1>;

  explicit Blocks(const LocalProblem& problem)
      : n_(problem.n_contacts()), mu_(problem.mu), q_(problem.q), q_norm_(problem.q.norm()) {
    scale_ = problem.W.diagonal().mean();
    const auto size = static_cast<std::size_t>(n_);
    first_.reserve(size + 1);
    own_.reserve(size);
    const auto n_blocks = static_cast<std::size_t>(problem.W.nonZeros()) / static_cast<std::size_t>(d * d);
    columns_.reserve(n_blocks);
    blocks_.reserve(n_blocks);
    std::vector<int> place(size, -1);  // index of the block of a column
    for (Index i = 0; i < n_; ++i) collect(problem.W, i, place);
    first_.push_back(static_cast<int>(columns_.size()));
  }

  [[nodiscard]] Index n() const { return n_; }
  [[nodiscard]] double mu(Index i) const { return mu_[i]; }
  /// Mean number of blocks per row of W.
  [[nodiscard]] double mean_row() const { return 1.0 + static_cast<double>(columns_.size()) / static_cast<double>(n_); }
  [[nodiscard]] const VectorXd& q() const { return q_; }
  [[nodiscard]] const SingleContact<d>& own(Index i) const { return own_[static_cast<std::size_t>(i)]; }
  /// Range of the off-diagonal blocks of row i: first and one past the last.
  [[nodiscard]] std::pair<int, int> row(Index i) const {
    return {first_[static_cast<std::size_t>(i)], first_[static_cast<std::size_t>(i) + 1]};
  }
  [[nodiscard]] Index column(int place) const { return columns_[static_cast<std::size_t>(place)]; }
  [[nodiscard]] const Block& block(int place) const { return blocks_[static_cast<std::size_t>(place)]; }

  /// Motion of contact i without its own reaction.
  [[nodiscard]] Vector free_motion_at(Index i, const VectorXd& r) const {
    Vector u = q_.segment<d>(d * i);
    const auto [begin, end] = row(i);
    for (int k = begin; k < end; ++k) u.noalias() += block(k) * r.segment<d>(d * column(k));
    return u;
  }
  [[nodiscard]] VectorXd motion(const VectorXd& r) const {
    VectorXd u(d * n_);
    for (Index i = 0; i < n_; ++i) u.segment<d>(d * i) = free_motion_at(i, r) + own(i).W() * r.segment<d>(d * i);
    return u;
  }
  /// compute_natural_map_error() of the reactions, up to rounding.
  [[nodiscard]] double error(const VectorXd& r) const {
    double sum = 0.0;
    for (Index i = 0; i < n_; ++i) {
      const auto own_reaction = r.segment<d>(d * i);
      Vector y = free_motion_at(i, r) + own(i).W() * own_reaction;
      y[0] += mu_[i] * y.template tail<d - 1>().norm();
      y = own_reaction / scale_ - y;
      project_on_cone(y, mu_[i]);
      sum += (own_reaction / scale_ - y).squaredNorm();
    }
    return std::sqrt(sum) / (q_norm_ > 0.0 ? q_norm_ : 1.0);
  }

  /// Conversion to and from the scaled problem.
  [[nodiscard]] VectorXd from_user(const VectorXd& r) const { return r * scale_; }
  [[nodiscard]] VectorXd to_user(const VectorXd& r) const { return r / scale_; }

 private:
  void collect(const DelassusMatrix& W, Index i, std::vector<int>& place) {
    const auto begin = static_cast<int>(columns_.size());
    first_.push_back(begin);
    Block own = Block::Zero();
    for (int row = 0; row < d; ++row) {
      for (DelassusMatrix::InnerIterator entry(W, d * i + row); entry; ++entry) {
        if (entry.value() == 0.0) continue;  // explicit zeros, from files with a dense matrix
        const auto column = static_cast<int>(entry.col()) / d;
        const auto within = entry.col() % d;
        if (column == i) {
          own(row, within) = entry.value() / scale_;
          continue;
        }
        int& found = place[static_cast<std::size_t>(column)];
        if (found < begin) {
          found = static_cast<int>(columns_.size());
          columns_.push_back(column);
          blocks_.push_back(Block::Zero());
        }
        blocks_[static_cast<std::size_t>(found)](row, within) = entry.value() / scale_;
      }
    }
    own_.emplace_back(own, mu_[i]);
  }

  Index n_;
  VectorXd mu_;
  double scale_ = 1.0;
  VectorXd q_;
  double q_norm_;
  std::vector<int> first_;    // first block of each row, and one past the last
  std::vector<int> columns_;  // contact of each block
  std::vector<Block> blocks_;
  std::vector<SingleContact<d>> own_;
};

/// One sweep of Gauss-Seidel. Contacts without local solution keep their reaction.
/// @return norm of the change of the reactions
template <int d>
double sweep(const Blocks<d>& blocks, VectorXd& r) {
  double change = 0.0;
  for (Index i = 0; i < blocks.n(); ++i) {
    const typename Blocks<d>::Vector before = r.segment<d>(d * i);
    typename Blocks<d>::Vector own = before;
    if (!blocks.own(i).solve(blocks.free_motion_at(i, r), own)) continue;
    r.segment<d>(d * i) = own;
    change += (own - before).squaredNorm();
  }
  return std::sqrt(change);
}

/// The equations of Alart and Curnier for the proximal problem about r_k, and their generalised derivative: per contact
///
///     r - P(r - rho u) = 0,   d = I - D (I - rho (W + alpha I)),   D the derivative of P at y = r - rho u
template <int d>
class ProximalEquations {
 public:
  using Block = typename Blocks<d>::Block;
  using Vector = typename Blocks<d>::Vector;

  ProximalEquations(const Blocks<d>& blocks, double alpha, VectorXd r_k)
      : blocks_(blocks), alpha_(alpha), r_k_(std::move(r_k)) {
    rho_.resize(blocks.n());
    // The inverse of the mean of the diagonal block is the step of a single contact.
    for (Index i = 0; i < blocks.n(); ++i) rho_[i] = d / (blocks.own(i).W().trace() + d * alpha);
  }

  struct Value {
    VectorXd residual;
    double merit = 0.0;
    std::vector<Block> D;
  };
  [[nodiscard]] Value at(const VectorXd& r) const {
    Value value{VectorXd(r.size()), 0.0, std::vector<Block>(static_cast<std::size_t>(blocks_.n()))};
    const VectorXd u = blocks_.motion(r) + alpha_ * (r - r_k_);
    for (Index i = 0; i < blocks_.n(); ++i) {
      Vector y = r.segment<d>(d * i) - rho_[i] * u.segment<d>(d * i);
      project(y, blocks_.mu(i), value.D[static_cast<std::size_t>(i)]);
      value.residual.template segment<d>(d * i) = r.segment<d>(d * i) - y;
    }
    value.merit = value.residual.squaredNorm();
    return value;
  }

  /// Newton step, none if the matrix is singular.
  [[nodiscard]] std::optional<VectorXd> step(const Value& value) const {
    // Open contacts have rows of the identity and are eliminated explicitly.
    std::vector<Index> place(static_cast<std::size_t>(blocks_.n()), -1);
    std::vector<Index> active_contacts;
    for (Index i = 0; i < blocks_.n(); ++i) {
      if (value.D[static_cast<std::size_t>(i)].isZero(0.0)) continue;
      place[static_cast<std::size_t>(i)] = static_cast<Index>(active_contacts.size());
      active_contacts.push_back(i);
    }
    VectorXd dr = -value.residual;
    const auto m = static_cast<Index>(active_contacts.size());
    if (m == 0) return dr;
    VectorXd rhs(d * m);
    std::vector<Eigen::Triplet<double>> entries;
    for (Index a = 0; a < m; ++a) {
      const Index i = active_contacts[static_cast<std::size_t>(a)];
      const Block& D = value.D[static_cast<std::size_t>(i)];
      Vector right = -value.residual.template segment<d>(d * i);
      const Block own = Block::Identity() - D + rho_[i] * D * (blocks_.own(i).W() + alpha_ * Block::Identity());
      add(entries, a, a, own);
      const auto [begin, end] = blocks_.row(i);
      for (int k = begin; k < end; ++k) {
        const Block block = rho_[i] * D * blocks_.block(k);
        const Index b = place[static_cast<std::size_t>(blocks_.column(k))];
        if (b >= 0) {
          add(entries, a, b, block);
        } else {
          right -= block * dr.segment<d>(d * blocks_.column(k));
        }
      }
      rhs.segment<d>(d * a) = right;
    }
    const std::optional<VectorXd> x = solve(entries, rhs);
    if (!x) return std::nullopt;
    for (Index a = 0; a < m; ++a)
      dr.segment<d>(d * active_contacts[static_cast<std::size_t>(a)]) = x->template segment<d>(d * a);
    return dr;
  }

 private:
  static void add(std::vector<Eigen::Triplet<double>>& entries, Index a, Index b, const Block& block) {
    for (int j = 0; j < d; ++j) {
      for (int i = 0; i < d; ++i) {
        if (block(i, j) != 0.0)
          entries.emplace_back(static_cast<int>(d * a + i), static_cast<int>(d * b + j), block(i, j));
      }
    }
  }
  /// A sparse factorisation is faster below a tenth of nonzero entries; a dense one needs no ordering.
  [[nodiscard]] static std::optional<VectorXd> solve(const std::vector<Eigen::Triplet<double>>& entries,
                                                     const VectorXd& rhs) {
    const Index n = rhs.size();
    VectorXd x;
    if (n <= 300 || static_cast<double>(entries.size()) > 0.1 * static_cast<double>(n * n)) {
      Eigen::MatrixXd J = Eigen::MatrixXd::Zero(n, n);
      for (const auto& entry : entries) J(entry.row(), entry.col()) += entry.value();
      x = Eigen::PartialPivLU<Eigen::MatrixXd>(J).solve(rhs);
    } else {
      Eigen::SparseMatrix<double> J(n, n);
      J.setFromTriplets(entries.begin(), entries.end());
      Eigen::SparseLU<Eigen::SparseMatrix<double>> lu(J);
      if (lu.info() != Eigen::Success) return std::nullopt;
      x = lu.solve(rhs);
    }
    if (!x.allFinite()) return std::nullopt;
    return x;
  }

  /// Projection of the normal part on [0, inf) and of the tangential part on the friction disc, and the derivative.
  static void project(Vector& y, double mu, Block& D) {
    D.setZero();
    if (y[0] <= 0.0) {
      y.setZero();
      return;
    }
    D(0, 0) = 1.0;
    const double radius = mu * y[0];
    using Tangential = Eigen::Matrix<double, d - 1, 1>;
    const Tangential tangential = y.template tail<d - 1>();
    const double length = tangential.norm();
    auto own = D.template bottomRightCorner<d - 1, d - 1>();
    if (length <= radius) {
      own.setIdentity();
      return;
    }
    const Tangential t = tangential / length;
    y.template tail<d - 1>() = radius * t;
    D.template bottomLeftCorner<d - 1, 1>() = mu * t;
    // In the plane no direction is perpendicular to t, so that this term is rounding only.
    if constexpr (d == 3) own = radius / length * (Eigen::Matrix2d::Identity() - t * t.transpose());
  }

  const Blocks<d>& blocks_;
  double alpha_;
  VectorXd r_k_;
  VectorXd rho_;
};

/// The best iterate so far and the counts.
template <int d>
struct Search {
  const LocalProblem& problem;
  const Blocks<d>& blocks;
  const FrictionOptions& options;
  FrictionSolution solution = {};
  VectorXd best = {};

  /// @return its error
  double check_probe(const VectorXd& r) {
    double error = blocks.error(r);
    if (best.size() != 0 && !(error < solution.error)) return error;
    // The blocks sum in another order; the error measure itself decides.
    if (error <= options.tolerance) error = compute_natural_map_error(problem, blocks.to_user(r));
    best = r;
    solution.error = error;
    solution.converged = error <= options.tolerance;
    return error;
  }
};

/// Sweeps between error evaluations, each as expensive as a sweep, unless the change of the reactions indicates
/// convergence.
constexpr int sweeps_per_check = 10;
/// Sweeps continue while their rate predicts convergence before Newton's method. That takes about 30 steps, each at the
/// cost of 2 sweeps per mean number of blocks in a row of W: 5 sweeps with 4.5 blocks, 120 with 23 were measured on
/// problems of FCLIB.
constexpr double newton_step_cost = 30.0 * 2.0;

/// Gauss-Seidel for at least `n` sweeps and while it is expected to converge soon, or until convergence.
template <int d>
void iterate_sweeps(Search<d>& search, VectorXd& r, int n) {
  double before = 0.0;           // error at the previous check; 0 = none
  double error_reduction = 0.0;  // at that check, relative to the change of the last sweep
  int since = 0;                 // sweeps since then
  for (int i = 1; search.solution.sweeps < search.options.max_sweeps; ++i) {
    const double change = sweep(search.blocks, r);
    ++search.solution.sweeps;
    ++since;
    const bool may_have_converged = before == 0.0 || change * error_reduction <= search.options.tolerance;
    if (!may_have_converged && since < sweeps_per_check) continue;
    const double error = search.check_probe(r);
    if (search.solution.converged) return;
    const double expected = error < before
                                ? since * std::log(error / search.options.tolerance) / std::log(before / error)
                                : std::numeric_limits<double>::infinity();
    const bool is_measured = before > 0.0 && since >= sweeps_per_check;
    if (i >= n && is_measured && expected > newton_step_cost * search.blocks.mean_row()) return;
    error_reduction = change > 0.0 ? error / change : std::numeric_limits<double>::infinity();
    before = error;
    since = 0;
  }
}

/// Newton's method on one proximal problem. @return true if its residual is small
template <int d>
bool newton(Search<d>& search, const ProximalEquations<d>& equations, VectorXd& r, int most) {
  auto value = equations.at(r);
  const double first = value.merit;
  for (int i = 0; i < most && search.solution.newton_steps < search.options.max_newton_steps; ++i) {
    // Large reactions of an ill-conditioned problem round by more than the motion, 8 units in the last place each.
    constexpr double rounding = 8.0 * std::numeric_limits<double>::epsilon();
    const double least =
        std::max(1e-26 * std::max(first, search.blocks.q().squaredNorm()), rounding * rounding * r.squaredNorm());
    if (value.merit <= least) return true;
    const auto dr = equations.step(value);
    if (!dr) return false;
    ++search.solution.newton_steps;
    double length = 1.0;
    VectorXd next = r + *dr;
    auto next_value = equations.at(next);
    // The equations are nonsmooth: a step that does not reduce the residual is halved a few times and then accepted.
    while (!(next_value.merit < value.merit) && length > 1.0 / 64.0) {
      length *= 0.5;
      next = r + length * *dr;
      next_value = equations.at(next);
    }
    if (!std::isfinite(next_value.merit)) return false;
    r = std::move(next);
    value = std::move(next_value);
    (void)search.check_probe(r);
    if (search.solution.converged) return true;
  }
  return false;
}

/// Proximal steps from r, with decreasing regularisation while they succeed.
/// @returns true if the error is accepted and steps do not reduce it
template <int d>
bool proximal_newton(Search<d>& search, VectorXd r, int most) {
  double alpha = 1e-3;
  for (int k = 0; k < most && !search.solution.converged; ++k) {
    const ProximalEquations<d> equations(search.blocks, alpha, r);
    VectorXd next = r;
    const double before = search.solution.error;
    const bool solved = newton(search, equations, next, 30);
    // A step with a tenth of the regularisation leaves a tenth of an error that reactions can remove.
    if (search.solution.error <= search.options.accepted_error && search.solution.error > 0.5 * before) return true;
    if (solved) {
      r = std::move(next);
      alpha = std::max(1e-9, 0.1 * alpha);
    } else {
      alpha *= 10.0;
      if (alpha > 10.0) return false;
    }
    if (search.solution.newton_steps >= search.options.max_newton_steps) return false;
  }
  return false;
}

template <int d>
FrictionSolution solve(const LocalProblem& problem, const FrictionOptions& options, const VectorXd& guess) {
  const Blocks<d> blocks(problem);
  Search<d> search{problem, blocks, options};
  VectorXd r = VectorXd::Zero(d * blocks.n());
  // Without a guess the first sweep replaces a check at zero.
  if (guess.size() != 0) (void)search.check_probe(r = blocks.from_user(guess));
  bool done = search.solution.converged;
  for (int sweeps = 10; !done; sweeps *= 2) {
    iterate_sweeps(search, r, sweeps);
    if (search.solution.converged) break;
    done = proximal_newton(search, r, 10) || search.solution.converged ||
           search.solution.sweeps >= options.max_sweeps || search.solution.newton_steps >= options.max_newton_steps;
    if (!done) r = search.best;
  }
  search.solution.r = blocks.to_user(search.best);
  search.solution.u = problem.W * search.solution.r + problem.q;
  return search.solution;
}

}  // namespace

FrictionSolution solve_friction(const LocalProblem& problem, const FrictionOptions& options, const VectorXd& guess) {
  return problem.dimension == 2 ? solve<2>(problem, options, guess) : solve<3>(problem, options, guess);
}

}  // namespace heelstrike::friction
