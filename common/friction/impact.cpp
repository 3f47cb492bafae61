#include "common/friction/impact.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "common/friction/solve_friction.hpp"

namespace heelstrike::friction {

namespace {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// Admissible reactions of one point for its motion: none, a ray, or the whole cone.
struct Admissible {
  enum class Set { none, ray, cone } set = Set::cone;
  double mu = 0.0;
  Vector3d ray = Vector3d::UnitX();  ///< unit length

  /// Projects y on them, in place. @returns the derivative
  [[nodiscard]] Matrix3d project(Eigen::Ref<Vector3d> y) const {
    if (set == Set::none) return zero(y);
    if (set == Set::ray) {
      const double along = ray.dot(y);
      if (along <= 0.0) return zero(y);
      y = along * ray;
      return ray * ray.transpose();
    }
    const double tangential = y.tail<2>().norm();
    if (tangential <= mu * y[0]) return Matrix3d::Identity();
    if (mu * tangential <= -y[0]) return zero(y);
    const Vector2d t = y.tail<2>() / tangential;
    const double normal = (y[0] + mu * tangential) / (1.0 + mu * mu);
    Vector3d edge(1.0, mu * t[0], mu * t[1]);
    Matrix3d D = edge * edge.transpose() / (1.0 + mu * mu);
    D.bottomRightCorner<2, 2>() += mu * normal / tangential * (Eigen::Matrix2d::Identity() - t * t.transpose());
    y = normal * edge;
    return D;
  }

 private:
  [[nodiscard]] static Matrix3d zero(Eigen::Ref<Vector3d> y) {
    y.setZero();
    return Matrix3d::Zero();
  }
};

[[nodiscard]] Admissible admissible(double mu, const Vector3d& u, const Vector3d& r, double rest) {
  using Set = Admissible::Set;
  if (u[0] > rest) return {.set = Set::none, .mu = mu};
  const double slip = u.tail<2>().norm();
  if (slip <= rest) return {.set = Set::cone, .mu = mu};
  // The direction of an existing reaction is more accurate than that of a slow slip.
  Vector3d ray = r;
  if (!(r[0] > 0.0)) ray << 1.0, -mu / slip * u.tail<2>();
  return {.set = Set::ray, .mu = mu, .ray = ray.normalized()};
}

/// find_min_norm_reactions() with a basis V of the range of W.
[[nodiscard]] VectorXd find_min_norm(const MatrixXd& V, const VectorXd& mu, const VectorXd& u, const VectorXd& r,
                                     double rest) {
  if (V.cols() == V.rows() || r.isZero(0.0)) return r;
  std::vector<Admissible> sets;
  for (Index i = 0; i < mu.size(); ++i) {
    sets.push_back(admissible(mu[i], u.segment<3>(3 * i), r.segment<3>(3 * i), rest));
  }
  const VectorXd b = V.transpose() * r;
  const auto value_of = [&](const VectorXd& projected, const VectorXd& x) {
    return 0.5 * projected.squaredNorm() - b.dot(x);
  };
  MatrixXd DV(V.rows(), V.cols());
  const auto project = [&](const VectorXd& x, bool differentiate) {
    VectorXd y = V * x;
    for (Index i = 0; i < mu.size(); ++i) {
      const Matrix3d D = sets[static_cast<std::size_t>(i)].project(y.segment<3>(3 * i));
      if (differentiate) DV.middleRows<3>(3 * i).noalias() = D * V.middleRows<3>(3 * i);
    }
    return y;
  };
  constexpr double accurate = 1e-14, enough = 1e-12;
  constexpr int max_steps = 50;
  VectorXd x = b;
  for (int step = 0;; ++step) {
    const VectorXd y = project(x, true);
    const VectorXd slope = V.transpose() * y - b;
    const double error = slope.norm() / b.norm();
    const VectorXd limited = y.norm() < r.norm() ? y : r;
    if (error <= accurate) return limited;
    if (step == max_steps) return error <= enough ? limited : r;
    // The second derivative is singular for motions that no point can oppose; the shift decreases with the error.
    MatrixXd H = V.transpose() * DV;
    H.diagonal().array() += std::clamp(error, accurate, 1e-3);
    const VectorXd direction = -H.llt().solve(slope);
    const double value = value_of(y, x), fall = slope.dot(direction);
    double length = 1.0;
    while (length > 1e-9 && value_of(project(x + length * direction, false), x + length * direction) >
                                value + 1e-4 * length * fall + 1e-15 * std::abs(value)) {
      length *= 0.5;
    }
    x += length * direction;
  }
}

}  // namespace

/// W = L L' by a Cholesky factorisation with pivots, whose columns are those of the independent motions, and L = V R.
/// With n rows and rank r this costs n r^2, an eigenvalue decomposition n^3: bodies have six motions each, but often
/// tens of contact points.
MatrixXd find_range(const MatrixXd& W) {
  const Index n = W.rows();
  // Far above the rounding of W and far below the required accuracy of the motion.
  constexpr double singular = 1e-12;
  const double least = singular * W.diagonal().maxCoeff();
  VectorXd remaining = W.diagonal();
  MatrixXd L(n, n);
  Index rank = 0, pivot = 0;
  for (; rank < n && remaining.maxCoeff(&pivot) > least; ++rank) {
    auto column = L.col(rank);
    column = W.col(pivot);
    column.noalias() -= L.leftCols(rank) * L.row(pivot).head(rank).transpose();
    column /= std::sqrt(remaining[pivot]);
    remaining -= column.cwiseAbs2();
    remaining[pivot] = 0.0;
  }
  const Eigen::HouseholderQR<MatrixXd> qr(L.leftCols(rank));
  return qr.householderQ() * MatrixXd::Identity(n, rank);
}

VectorXd find_min_norm_reactions(const MatrixXd& W, const VectorXd& mu, const VectorXd& u, const VectorXd& r,
                                 double rest) {
  return find_min_norm(find_range(W), mu, u, r, rest);
}

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Regularisation of proximal steps relative to the mean diagonal of A: the square root of machine precision. A step
/// reduces the error by the factor (regularisation / smallest positive eigenvalue), and amplifies rounding of b outside
/// the range of A by its inverse.
constexpr double proximal = 1e-8;
/// Each step leaves a small part of the error, except for nearly redundant points.
constexpr int max_proximal_steps = 30;

/// min p' A p / 2 + b' p over p >= 0 for positive definite A, by the active-set method of Lawson and Hanson: finite and
/// exact. `passive` contains the entries that may differ from zero, initially a guess.
class NonNegativeMinimum {
 public:
  explicit NonNegativeMinimum(const MatrixXd& A)
      : A_(A), p_(VectorXd::Zero(A.rows())), passive_(static_cast<std::size_t>(A.rows()), 0) {}

  /// @returns false without termination, which rounding may cause
  bool solve(const VectorXd& b) {
    const Index n = p_.size();
    if (!shrink(b)) return false;
    // The entry with the steepest slope becomes positive at the minimum with it: where it leaves at once, its slope is
    // rounding, and it is not tried again before another one has entered.
    std::vector<char> rejected(static_cast<std::size_t>(n), 0);
    // Every entry enters a few times at most; the bound stops cycling caused by rounding.
    for (Index step = 0; step < 10 * n + 10; ++step) {
      const VectorXd slope = -(A_ * p_ + b);
      // Rounding of the summed terms: the sign of smaller values is meaningless.
      const VectorXd rounding = 1e-14 * (A_.cwiseAbs() * p_ + b.cwiseAbs());
      Index steepest = -1;
      for (Index i = 0; i < n; ++i) {
        const auto entry = static_cast<std::size_t>(i);
        if (passive_[entry] || rejected[entry] || slope[i] <= rounding[i]) continue;
        if (steepest < 0 || slope[i] > slope[steepest]) steepest = i;
      }
      if (steepest < 0) return true;
      const auto entered = static_cast<std::size_t>(steepest);
      passive_[entered] = 1;
      if (!shrink(b)) return false;
      if (passive_[entered]) {
        std::ranges::fill(rejected, 0);
      } else {
        rejected[entered] = 1;
      }
    }
    return false;
  }
  [[nodiscard]] const VectorXd& p() const { return p_; }

 private:
  /// Moves to the minimum over the passive entries; entries that would become negative leave the passive set.
  bool shrink(const VectorXd& b) {
    for (Index round = 0; round <= p_.size(); ++round) {
      const VectorXd next = minimum(b);
      double direction = 1.0;
      Index blocking = -1;
      for (Index i = 0; i < p_.size(); ++i) {
        if (!passive_[static_cast<std::size_t>(i)] || next[i] > 0.0) continue;
        const double here = p_[i] - next[i] > 0.0 ? p_[i] / (p_[i] - next[i]) : 0.0;
        if (blocking >= 0 && here >= direction) continue;
        direction = here;
        blocking = i;
      }
      if (blocking < 0) {
        p_ = next;
        return next.allFinite();
      }
      p_ += direction * (next - p_);
      p_[blocking] = 0.0;
      for (Index i = 0; i < p_.size(); ++i) {
        if (p_[i] <= 0.0) {
          p_[i] = 0.0;
          if (next[i] <= 0.0) passive_[static_cast<std::size_t>(i)] = 0;
        }
      }
    }
    return true;
  }

  [[nodiscard]] VectorXd minimum(const VectorXd& b) const {
    std::vector<Index> free;
    for (Index i = 0; i < p_.size(); ++i) {
      if (passive_[static_cast<std::size_t>(i)]) free.push_back(i);
    }
    VectorXd p = VectorXd::Zero(p_.size());
    if (free.empty()) return p;
    const MatrixXd A = A_(free, free);
    const VectorXd right = -b(free);
    p(free) = VectorXd(A.llt().solve(right));
    return p;
  }

  const MatrixXd& A_;
  VectorXd p_;
  std::vector<char> passive_;
};

[[nodiscard]] double energy_of(const MatrixXd& W, const VectorXd& P, const VectorXd& u_before) {
  return P.dot(u_before + 0.5 * (W * P));
}

[[nodiscard]] bool has_friction(const ImpactProblem& problem) {
  return (problem.mu.array() > 0.0).any();
}

[[nodiscard]] std::vector<Index> normal_rows(Index n) {
  std::vector<Index> rows;
  for (Index i = 0; i < n; ++i) rows.push_back(3 * i);
  return rows;
}

/// Frictionless solution in the full vector of impulses.
[[nodiscard]] bool solve_frictionless(const ImpactProblem& problem, const VectorXd& q, VectorXd& P) {
  const auto normals = normal_rows(problem.mu.size());
  VectorXd p;
  const bool solved = solve_normal(problem.W(normals, normals), q(normals), p);
  P = VectorXd::Zero(q.size());
  P(normals) = p;
  return solved;
}

/// Adds frictionless impulses until no point approaches; the impulses remain in their cones.
void restore_separation(const ImpactProblem& problem, const VectorXd& q, VectorXd& P) {
  const VectorXd u = q + problem.W * P;
  double deepest = 0.0;
  for (Index i = 0; i < problem.mu.size(); ++i) deepest = std::min(deepest, u[3 * i]);
  VectorXd more;
  if (deepest < -std::max(1e-12 * q.norm(), problem.velocity_rounding) && solve_frictionless(problem, u, more))
    P += more;
}

/// Clips impulses to the friction cones.
void clip(const ImpactProblem& problem, VectorXd& P) {
  for (Index i = 0; i < problem.mu.size(); ++i) {
    P[3 * i] = std::max(0.0, P[3 * i]);
    const double tangential = P.segment<2>(3 * i + 1).norm();
    const double limit = problem.mu[i] * P[3 * i];
    if (tangential > limit) P.segment<2>(3 * i + 1) *= limit / tangential;
  }
}

/// Velocities without the part that no impulses change. @param V  basis of the range of W
[[nodiscard]] VectorXd reachable_part(const MatrixXd& V, const VectorXd& u) {
  return V * (V.transpose() * u);
}

/// Velocities of the points of bodies that move as rigid ones: in a step, a part that no impulses change comes from
/// axes that are not unit vectors. In a groove, impulses between the walls would grow without limit in order to reduce
/// it. It is a part of the slips: the normal velocities, which are those of centres of curvature, are kept.
[[nodiscard]] VectorXd rigid_velocity(const ImpactProblem& problem, const MatrixXd& V, const VectorXd& u) {
  if (!problem.is_free || !has_friction(problem)) return u;
  // A tenth of the error that solve_coulomb() accepts: a smaller part is rounding.
  constexpr double rounding = 1e-10;
  if ((u - reachable_part(V, u)).norm() <= rounding * u.norm()) return u;
  // Least squares with weights, not equations: of redundant points the normal velocities may contradict each other.
  // Their change is that of the slips divided by the square of the weight.
  constexpr double weight = 1e4;
  const auto normals = normal_rows(problem.mu.size());
  MatrixXd weighted = V;
  VectorXd right = u;
  weighted(normals, Eigen::all) *= weight;
  right(normals) *= weight;
  return V * VectorXd(weighted.householderQr().solve(right));
}

/// True if the motion is not unique: some closed points slide, not all in one direction, so that the resulting friction
/// depends on how redundant points share their load.
/// @param u     [m/s] with the impulses P
/// @param rest  [m/s] slower slip is none
[[nodiscard]] bool depends_on_load_shares(const ImpactProblem& problem, const MatrixXd& V, const VectorXd& u,
                                          const VectorXd& P, double rest) {
  if (V.cols() == V.rows()) return false;
  bool any_sticks = false, turns = false;
  Eigen::Vector2d direction = Eigen::Vector2d::Zero();
  for (Index i = 0; i < problem.mu.size(); ++i) {
    if (!(problem.mu[i] > 0.0) || (u[3 * i] > rest && !(P[3 * i] > 0.0))) continue;
    const Eigen::Vector2d slip = u.segment<2>(3 * i + 1);
    const double speed = slip.norm();
    if (speed <= rest) {
      any_sticks = true;
      continue;
    }
    constexpr double parallel = 1e-9;
    if (direction.isZero(0.0)) direction = slip / speed;
    turns = turns || (slip / speed - direction).norm() > parallel;
  }
  return !direction.isZero(0.0) && (turns || any_sticks);
}

/// Of the solutions of the local problem the one in which redundant points share their load as on equal springs, which
/// depends on no order and keeps the symmetries of the problem. Proximal steps remove the deflection of the springs
/// from the motion, not from the shares.
/// @param guess  a solution
/// @returns none if it is not found
[[nodiscard]] std::optional<VectorXd> solve_with_equal_springs(const LocalProblem& problem, const VectorXd& guess,
                                                               const FrictionOptions& options, double accepted_error) {
  const auto normals = normal_rows(problem.mu.size());
  double mean = 0.0;
  for (const Index row : normals) mean += problem.W.coeff(row, row) / static_cast<double>(normals.size());
  // A step reduces the error by the ratio of this compliance to that of the bodies; shares have the error of the
  // solution over it.
  const double compliance = 1e-2 * mean;
  LocalProblem regular = problem;
  for (const Index row : normals) regular.W.coeffRef(row, row) += compliance;
  VectorXd P = guess, deflected = VectorXd::Zero(guess.size());
  double last = std::numeric_limits<double>::infinity();
  for (int step = 0; step < max_proximal_steps; ++step) {
    regular.q = problem.q;
    regular.q(normals) -= compliance * deflected(normals);
    const FrictionSolution solution = solve_friction(regular, options, P);
    if (solution.error > accepted_error) return std::nullopt;
    P = deflected = solution.r;
    const double error = compute_natural_map_error(problem, P);
    // The last steps are limited by rounding.
    if (error <= options.tolerance || (error <= accepted_error && error > 0.5 * last)) return P;
    last = error;
  }
  return std::nullopt;
}

/// 0 <= P_n perpendicular to u_n >= 0 with Coulomb friction, u = W P + q.
/// @param V  basis of the range of W; unused without friction
/// @param P  in: a guess, or empty
/// @returns false without solution; P is then admissible, and without floors in q creates no energy
[[nodiscard]] bool solve_coulomb(const ImpactProblem& problem, const MatrixXd& V, const VectorXd& q, VectorXd& P) {
  if (!has_friction(problem) || q.isZero(0.0)) return solve_frictionless(problem, q, P);
  LocalProblem local{.dimension = 3, .W = problem.W.sparseView(), .q = q, .mu = problem.mu};
  // An error above the strict tolerance because of rounding is accepted, of the solver or of the velocities: rounded
  // gaps of redundant points contradict each other.
  const double accepted_error = std::max(1e-9, problem.velocity_rounding / q.norm());
  const FrictionOptions options{
      .tolerance = 1e-12, .accepted_error = accepted_error, .max_sweeps = 200, .max_newton_steps = 400};
  FrictionSolution solution = solve_friction(local, options, P);
  if (solution.error > accepted_error && problem.is_free) {
    // Floors come from rounded gaps of redundant points: a part that no impulses change is removed if it is tiny.
    constexpr double tiny = 1e-6;
    const VectorXd reachable = reachable_part(V, q);
    if ((q - reachable).norm() <= tiny * q.norm()) {
      local.q = reachable;
      solution = solve_friction(local, options);
    }
  }
  const bool solved = solution.error <= accepted_error;
  P = solution.r;
  if (solved && depends_on_load_shares(problem, V, solution.u, P, accepted_error * q.norm())) {
    if (const auto shared = solve_with_equal_springs(local, P, options, accepted_error)) P = *shared;
  }
  clip(problem, P);
  if (solved) P = find_min_norm(V, problem.mu, problem.W * P + local.q, P, accepted_error * q.norm());
  restore_separation(problem, q, P);
  // The frictionless solution always exists and creates no energy.
  if (energy_of(problem.W, P, q) > 0.0) (void)solve_frictionless(problem, q, P);
  return solved;
}

/// Minimum normal velocities of Newton's law.
[[nodiscard]] VectorXd min_rebound_velocity(const ImpactProblem& problem, const VectorXd& u_before) {
  VectorXd floor(problem.mu.size());
  for (Index i = 0; i < floor.size(); ++i) {
    const bool newton = problem.law[static_cast<std::size_t>(i)] != ImpactLaw::poisson;
    floor[i] = newton ? problem.restitution[i] * std::max(0.0, -u_before[3 * i]) : 0.0;
  }
  return floor;
}

[[nodiscard]] VectorXd shifted_by_floor(VectorXd q, const VectorXd& floor) {
  for (Index i = 0; i < floor.size(); ++i) q[3 * i] -= floor[i];
  return q;
}

/// Restitution after a compression that ended with `u`: Q_n >= 0 perpendicular to u_n >= 0 in addition to the impulses
/// `given`, friction within its cone, by projected Gauss-Seidel.
[[nodiscard]] VectorXd expand(const ImpactProblem& problem, VectorXd u, const VectorXd& given) {
  const Index n = given.size();
  VectorXd P = VectorXd::Zero(3 * n);
  const auto change = [&](Index row, double to) {
    const double by = to - P[row];
    P[row] = to;
    if (by != 0.0) u += by * problem.W.col(row);
    return std::abs(by) * problem.W(row, row);
  };
  for (Index i = 0; i < n; ++i) (void)change(3 * i, given[i]);
  const double enough = 1e-13 * u.norm();
  for (int sweep = 0; sweep < 2000; ++sweep) {
    double largest = 0.0;
    for (Index i = 0; i < n; ++i) {
      const Index row = 3 * i;
      const double W_n = problem.W(row, row);
      if (W_n > 0.0) largest = std::max(largest, change(row, std::max(given[i], P[row] - u[row] / W_n)));
      const double W_t = std::max(problem.W(row + 1, row + 1), problem.W(row + 2, row + 2));
      if (!(W_t > 0.0)) continue;
      Eigen::Vector2d t = P.segment<2>(row + 1) - u.segment<2>(row + 1) / W_t;
      const double limit = problem.mu[i] * P[row];
      if (t.norm() > limit) t *= limit / t.norm();
      largest = std::max({largest, change(row + 1, t[0]), change(row + 2, t[1])});
    }
    if (largest <= enough) break;
  }
  return P;
}

/// Largest fraction of the path from `P` to `P_law` without energy increase: the larger root of a convex parabola that
/// is not positive at 0, or 1.
[[nodiscard]] double energy_neutral_fraction(const MatrixXd& W, const VectorXd& u_before, const VectorXd& P,
                                             const VectorXd& P_law) {
  if (energy_of(W, P_law, u_before) <= 0.0) return 1.0;
  const VectorXd direction = P_law - P;
  const double c = std::min(0.0, energy_of(W, P, u_before));
  const double b = direction.dot(u_before + W * P);
  const double a = 0.5 * direction.dot(W * direction);
  const double root = std::sqrt(std::max(0.0, b * b - 4.0 * a * c));
  const double fraction = b > 0.0 ? -2.0 * c / (b + root) : (a > 0.0 ? (root - b) / (2.0 * a) : 0.0);
  return std::clamp(fraction, 0.0, 1.0);
}

}  // namespace

bool solve_normal(const MatrixXd& A, const VectorXd& b, VectorXd& p) {
  const Index n = b.size();
  p = VectorXd::Zero(n);
  if ((b.array() >= 0.0).all()) return true;
  const double mean = A.trace() / static_cast<double>(n);
  if (!(mean > 0.0)) return false;
  const double size = b.cwiseAbs().maxCoeff();
  const MatrixXd regular = A + proximal * mean * MatrixXd::Identity(n, n);
  NonNegativeMinimum minimum(regular);
  double error = 0.0;
  for (int k = 0; k < max_proximal_steps; ++k) {
    if (!minimum.solve(b - proximal * mean * p)) return false;
    p = minimum.p();
    error = (A * p + b).cwiseMin(mean * p).cwiseAbs().maxCoeff();
    if (error <= 1e-9 * size && error <= 1e-14 * (size + mean * p.maxCoeff())) return true;
  }
  return error <= 1e-9 * size;
}

MatrixXd rigid_velocities(const ImpactProblem& problem, const MatrixXd& V, MatrixXd u) {
  for (Index column = 0; column < u.cols(); ++column) {
    u.col(column) = rigid_velocity(problem, V, VectorXd(u.col(column)));
  }
  return u;
}

ImpactSolution solve_impact(const ImpactProblem& problem, const VectorXd& u_of_step) {
  ImpactSolution solution;
  const MatrixXd V = has_friction(problem) ? find_range(problem.W) : MatrixXd();
  const VectorXd u_before = rigid_velocity(problem, V, u_of_step);
  VectorXd P, P_law;
  solution.converged = solve_coulomb(problem, V, u_before, P);
  const bool poisson = std::ranges::find(problem.law, ImpactLaw::poisson) != problem.law.end();
  const VectorXd floor = min_rebound_velocity(problem, u_before);
  P_law = P;
  // Newton's law may require a jammed body to separate from one contact into another. It then has no solution, or
  // impulses far beyond (1 + e) times those of compression; the impulses of compression, which always exist, are used
  // instead.
  constexpr double max_impulse_ratio = 100.0;
  const bool contradiction =
      !floor.isZero(0.0) && (!solve_coulomb(problem, V, shifted_by_floor(u_before, floor), P_law) ||
                             P_law.norm() > max_impulse_ratio * P.norm());
  if (contradiction) P_law = P;
  if (poisson || contradiction) {
    VectorXd given(problem.mu.size());
    for (Index i = 0; i < given.size(); ++i) {
      const bool gives = contradiction || problem.law[static_cast<std::size_t>(i)] == ImpactLaw::poisson;
      given[i] = gives ? problem.restitution[i] * P_law[3 * i] : 0.0;
    }
    const VectorXd u = u_before + problem.W * P_law;
    P_law += expand(problem, contradiction ? u : shifted_by_floor(u, floor), given);
    restore_separation(problem, u_before, P_law);
  }
  solution.fraction = energy_neutral_fraction(problem.W, u_before, P, P_law);
  solution.P = solution.fraction == 1.0 ? P_law : VectorXd(P + solution.fraction * (P_law - P));
  solution.energy = energy_of(problem.W, solution.P, u_before);
  if (solution.energy > 0.0) {
    // Rounding correction: the energy as a parabola of a common factor of the impulses is zero at 0, too.
    solution.P *= std::clamp(-2.0 * solution.P.dot(u_before) / solution.P.dot(problem.W * solution.P), 0.0, 1.0);
    solution.energy = energy_of(problem.W, solution.P, u_before);
  }
  solution.u = u_before + problem.W * solution.P;
  return solution;
}

ImpactSolution solve_contact(const ImpactProblem& problem, const MatrixXd& V, const VectorXd& u_free,
                             const VectorXd& floor, const VectorXd& slip_offset, const VectorXd& guess) {
  ImpactSolution solution{.P = guess, .u = {}};
  VectorXd q = shifted_by_floor(u_free, floor);
  for (Index row = 0; row < slip_offset.size(); row += 3) q.segment<2>(row + 1) += slip_offset.segment<2>(row + 1);
  solution.converged = solve_coulomb(problem, V, q, solution.P);
  solution.u = u_free + problem.W * solution.P;
  solution.energy = energy_of(problem.W, solution.P, u_free);
  return solution;
}

}  // namespace heelstrike::friction
