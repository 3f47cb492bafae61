#include "common/friction/solve_friction.hpp"

#include <Eigen/LU>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "common/friction/one_contact.hpp"

namespace heelstrike::friction {
namespace {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// The rows of one contact in W: its own block and the others'.
struct ContactRows {
  std::vector<int> columns;  ///< contacts, ascending, the own one left out
  std::vector<Matrix3d> blocks;
  std::optional<OneContact> own;
  [[nodiscard]] const Matrix3d& own_block() const { return own->W(); }
};

/// The problem with three components per contact and the mean diagonal of W as its unit: reactions are multiplied by
/// that mean, so that reactions and motions compare, and steps and regularisations are numbers without unit.
class Blocks {
 public:
  explicit Blocks(const LocalProblem& problem)
      : n_(problem.n_contacts()), d_(problem.dimension), mu_(problem.mu), rows_(static_cast<std::size_t>(n_)) {
    scale_ = problem.W.diagonal().mean();
    q_ = widen(problem.q);
    for (Index i = 0; i < n_; ++i) collect(problem, i);
  }

  [[nodiscard]] Index n() const { return n_; }
  [[nodiscard]] double mu(Index i) const { return mu_[i]; }
  /// Blocks of a row of W on average.
  [[nodiscard]] double mean_row() const {
    std::size_t n_blocks = 0;
    for (const ContactRows& rows : rows_) n_blocks += rows.columns.size() + 1;
    return static_cast<double>(n_blocks) / static_cast<double>(n_);
  }
  [[nodiscard]] const VectorXd& q() const { return q_; }
  [[nodiscard]] const ContactRows& rows(Index i) const { return rows_[static_cast<std::size_t>(i)]; }

  /// Motion of contact i without its own reaction.
  [[nodiscard]] Vector3d motion_by_others(Index i, const VectorXd& r) const {
    const ContactRows& rows = this->rows(i);
    Vector3d u = q_.segment<3>(3 * i);
    for (std::size_t k = 0; k < rows.columns.size(); ++k) {
      u.noalias() += rows.blocks[k] * r.segment<3>(3 * static_cast<Index>(rows.columns[k]));
    }
    return u;
  }
  [[nodiscard]] VectorXd motion(const VectorXd& r) const {
    VectorXd u(3 * n_);
    for (Index i = 0; i < n_; ++i) {
      u.segment<3>(3 * i) = motion_by_others(i, r) + rows(i).own_block() * r.segment<3>(3 * i);
    }
    return u;
  }

  /// Scaled and with three components, from and to what callers have.
  [[nodiscard]] VectorXd from_user(const VectorXd& r) const { return widen(r) * scale_; }
  [[nodiscard]] VectorXd to_user(const VectorXd& r) const {
    VectorXd result(d_ * n_);
    for (Index i = 0; i < n_; ++i) result.segment(d_ * i, d_) = r.segment(3 * i, d_) / scale_;
    return result;
  }

 private:
  [[nodiscard]] VectorXd widen(const VectorXd& x) const {
    VectorXd result = VectorXd::Zero(3 * n_);
    for (Index i = 0; i < n_; ++i) result.segment(3 * i, d_) = x.segment(d_ * i, d_);
    return result;
  }
  void collect(const LocalProblem& problem, Index i) {
    std::vector<std::pair<int, Matrix3d>> blocks;
    std::vector<int> place(static_cast<std::size_t>(n_), -1);
    for (int row = 0; row < d_; ++row) {
      for (DelassusMatrix::InnerIterator entry(problem.W, d_ * i + row); entry; ++entry) {
        const auto column = static_cast<int>(entry.col()) / d_;
        int& found = place[static_cast<std::size_t>(column)];
        if (found < 0) {
          found = static_cast<int>(blocks.size());
          blocks.emplace_back(column, Matrix3d::Zero());
        }
        blocks[static_cast<std::size_t>(found)].second(row, entry.col() % d_) = entry.value() / scale_;
      }
    }
    std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ContactRows& rows = rows_[static_cast<std::size_t>(i)];
    for (const auto& [column, block] : blocks) {
      if (column == i) {
        Matrix3d own = block;
        if (d_ == 2) own(2, 2) = 1.0;  // in the plane nothing pulls out of it
        rows.own.emplace(own, mu_[i]);
      } else {
        rows.columns.push_back(column);
        rows.blocks.push_back(block);
      }
    }
  }

  Index n_;
  int d_;
  VectorXd mu_;
  double scale_ = 1.0;
  VectorXd q_;
  std::vector<ContactRows> rows_;
};

/// One sweep of Gauss-Seidel. Contacts without a solution of their own keep their reaction.
void sweep(const Blocks& blocks, VectorXd& r) {
  for (Index i = 0; i < blocks.n(); ++i) {
    Vector3d own = r.segment<3>(3 * i);
    if (blocks.rows(i).own->solve(blocks.motion_by_others(i, r), own)) r.segment<3>(3 * i) = own;
  }
}

/// The equations of Alart and Curnier for the proximal problem about r_k, and their generalised derivative: per contact
///
///     r - P(r - rho u) = 0,   d = I - D (I - rho (W + alpha I)),   D the derivative of P at y = r - rho u
class ProximalEquations {
 public:
  ProximalEquations(const Blocks& blocks, double alpha, VectorXd r_k)
      : blocks_(blocks), alpha_(alpha), r_k_(std::move(r_k)) {
    rho_.resize(blocks.n());
    // The inverse of the own block's mean is the step that a contact on its own would take.
    for (Index i = 0; i < blocks.n(); ++i) rho_[i] = 3.0 / (blocks.rows(i).own_block().trace() + 3.0 * alpha);
  }

  struct Value {
    VectorXd residual;
    double merit = 0.0;
    std::vector<Matrix3d> D;
  };
  [[nodiscard]] Value at(const VectorXd& r) const {
    Value value{VectorXd(r.size()), 0.0, std::vector<Matrix3d>(static_cast<std::size_t>(blocks_.n()))};
    const VectorXd u = blocks_.motion(r) + alpha_ * (r - r_k_);
    for (Index i = 0; i < blocks_.n(); ++i) {
      Vector3d y = r.segment<3>(3 * i) - rho_[i] * u.segment<3>(3 * i);
      project(y, blocks_.mu(i), value.D[static_cast<std::size_t>(i)]);
      value.residual.segment<3>(3 * i) = r.segment<3>(3 * i) - y;
    }
    value.merit = value.residual.squaredNorm();
    return value;
  }

  /// Newton's step, or nothing where the matrix is singular.
  [[nodiscard]] std::optional<VectorXd> step(const Value& value) const {
    // Contacts that carry nothing have rows of the identity and are eliminated by hand.
    std::vector<Index> place(static_cast<std::size_t>(blocks_.n()), -1);
    std::vector<Index> carrying;
    for (Index i = 0; i < blocks_.n(); ++i) {
      if (value.D[static_cast<std::size_t>(i)].isZero(0.0)) continue;
      place[static_cast<std::size_t>(i)] = static_cast<Index>(carrying.size());
      carrying.push_back(i);
    }
    VectorXd dr = -value.residual;
    const auto m = static_cast<Index>(carrying.size());
    if (m == 0) return dr;
    VectorXd rhs(3 * m);
    std::vector<Eigen::Triplet<double>> entries;
    for (Index a = 0; a < m; ++a) {
      const Index i = carrying[static_cast<std::size_t>(a)];
      const Matrix3d& D = value.D[static_cast<std::size_t>(i)];
      const ContactRows& rows = blocks_.rows(i);
      Vector3d right = -value.residual.segment<3>(3 * i);
      const Matrix3d own = Matrix3d::Identity() - D + rho_[i] * D * (rows.own_block() + alpha_ * Matrix3d::Identity());
      add(entries, a, a, own);
      for (std::size_t k = 0; k < rows.columns.size(); ++k) {
        const Matrix3d block = rho_[i] * D * rows.blocks[k];
        const Index b = place[static_cast<std::size_t>(rows.columns[k])];
        if (b >= 0) {
          add(entries, a, b, block);
        } else {
          right -= block * dr.segment<3>(3 * static_cast<Index>(rows.columns[k]));
        }
      }
      rhs.segment<3>(3 * a) = right;
    }
    const std::optional<VectorXd> x = solve(entries, rhs);
    if (!x) return std::nullopt;
    for (Index a = 0; a < m; ++a) dr.segment<3>(3 * carrying[static_cast<std::size_t>(a)]) = x->segment<3>(3 * a);
    return dr;
  }

 private:
  static void add(std::vector<Eigen::Triplet<double>>& entries, Index a, Index b, const Matrix3d& block) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        if (block(i, j) != 0.0)
          entries.emplace_back(static_cast<int>(3 * a + i), static_cast<int>(3 * b + j), block(i, j));
      }
    }
  }
  /// Below a tenth of entries a sparse factor pays; a dense one needs no ordering.
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

  /// Projection of the normal part on [0, inf) and of the tangential one on the disc that belongs to it, and the
  /// derivative.
  static void project(Vector3d& y, double mu, Matrix3d& D) {
    D.setZero();
    if (y[0] <= 0.0) {
      y.setZero();
      return;
    }
    D(0, 0) = 1.0;
    const double radius = mu * y[0];
    const Eigen::Vector2d tangential = y.tail<2>();
    const double length = tangential.norm();
    if (length <= radius) {
      D(1, 1) = D(2, 2) = 1.0;
      return;
    }
    const Eigen::Vector2d t = tangential / length;
    y.tail<2>() = radius * t;
    D.block<2, 1>(1, 0) = mu * t;
    D.block<2, 2>(1, 1) = radius / length * (Eigen::Matrix2d::Identity() - t * t.transpose());
  }

  const Blocks& blocks_;
  double alpha_;
  VectorXd r_k_;
  VectorXd rho_;
};

/// The best iterate so far and the counts.
struct Search {
  const LocalProblem& problem;
  const Blocks& blocks;
  const FrictionOptions& options;
  FrictionSolution solution = {};
  VectorXd best = {};

  /// @return its error
  double look_at(const VectorXd& r) {
    const VectorXd user = blocks.to_user(r);
    const double error = natural_map_error(problem, user);
    if (best.size() == 0 || error < solution.error) {
      best = r;
      solution.r = user;
      solution.error = error;
    }
    solution.converged = solution.error <= options.tolerance;
    return error;
  }
};

/// Sweeps from one look at the error, which costs as much as a sweep, to the next.
constexpr int sweeps_per_look = 10;
/// Sweeps go on as long as their rate promises to end before Newton's method would, which takes some 30 steps that cost
/// as much as 2 sweeps for each block that a row of W has on average: 5 sweeps with 4.5 blocks, 120 with 23 were
/// measured on problems of FCLIB.
constexpr double newton_cost = 30.0 * 2.0;

/// Gauss-Seidel for at least `n` sweeps and as long as it promises to end soon, or until done.
void sweep_on(Search& search, VectorXd& r, int n) {
  double before = 0.0;  // error at the look before; 0 = none
  for (int i = 0; search.solution.sweeps < search.options.most_sweeps; i += sweeps_per_look) {
    for (int k = 0; k < sweeps_per_look; ++k) sweep(search.blocks, r);
    search.solution.sweeps += sweeps_per_look;
    const double error = search.look_at(r);
    if (search.solution.converged) return;
    const double expected =
        error < before ? sweeps_per_look * std::log(error / search.options.tolerance) / std::log(before / error)
                       : std::numeric_limits<double>::infinity();
    if (i + sweeps_per_look >= n && before > 0.0 && expected > newton_cost * search.blocks.mean_row()) return;
    before = error;
  }
}

/// Newton on one proximal problem. @return whether its residual has become small
bool newton(Search& search, const ProximalEquations& equations, VectorXd& r, int most) {
  auto value = equations.at(r);
  const double first = value.merit;
  for (int i = 0; i < most && search.solution.newton_steps < search.options.most_newton_steps; ++i) {
    if (value.merit <= 1e-26 * std::max(first, search.blocks.q().squaredNorm())) return true;
    const auto dr = equations.step(value);
    if (!dr) return false;
    ++search.solution.newton_steps;
    double length = 1.0;
    VectorXd next = r + *dr;
    auto next_value = equations.at(next);
    // The equations have kinks: a step that does not reduce them is halved a few times, then taken all the same, small.
    while (!(next_value.merit < value.merit) && length > 1.0 / 64.0) {
      length *= 0.5;
      next = r + length * *dr;
      next_value = equations.at(next);
    }
    if (!std::isfinite(next_value.merit)) return false;
    r = std::move(next);
    value = std::move(next_value);
    (void)search.look_at(r);
    if (search.solution.converged) return true;
  }
  return false;
}

/// Proximal steps from r, with less and less regularisation while they succeed.
void proximal_newton(Search& search, VectorXd r, int most) {
  double alpha = 1e-3;
  for (int k = 0; k < most && !search.solution.converged; ++k) {
    const ProximalEquations equations(search.blocks, alpha, r);
    VectorXd next = r;
    if (newton(search, equations, next, 30)) {
      r = std::move(next);
      alpha = std::max(1e-9, 0.1 * alpha);
    } else {
      alpha *= 10.0;
      if (alpha > 10.0) return;
    }
    if (search.solution.newton_steps >= search.options.most_newton_steps) return;
  }
}

}  // namespace

FrictionSolution solve_friction(const LocalProblem& problem, const FrictionOptions& options, const VectorXd& guess) {
  const Blocks blocks(problem);
  Search search{problem, blocks, options};
  VectorXd r = guess.size() == 0 ? VectorXd(VectorXd::Zero(3 * blocks.n())) : blocks.from_user(guess);
  (void)search.look_at(r);
  bool done = search.solution.converged;
  for (int sweeps = 10; !done; sweeps *= 2) {
    sweep_on(search, r, sweeps);
    if (search.solution.converged) break;
    proximal_newton(search, r, 10);
    done = search.solution.converged || search.solution.sweeps >= options.most_sweeps ||
           search.solution.newton_steps >= options.most_newton_steps;
    if (!done) r = search.best;
  }
  search.solution.u = problem.W * search.solution.r + problem.q;
  return search.solution;
}

}  // namespace heelstrike::friction
