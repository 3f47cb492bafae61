#include "common/friction/local_problem.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "common/errors/error.hpp"

namespace heelstrike::friction {

void check_problem(const LocalProblem& problem, const std::string& where) {
  if (problem.dimension != 2 && problem.dimension != 3) {
    throw input_error("dimension",
                      fmt::format("{}: expected contacts of dimension 2 or 3, found {}", where, problem.dimension));
  }
  const Eigen::Index size = problem.dimension * problem.n_contacts();
  if (problem.n_contacts() == 0) throw input_error("mu", where + ": expected at least one contact, found none");
  if (problem.W.rows() != size || problem.W.cols() != size) {
    throw input_error(
        "W", fmt::format("{}: expected W with {} rows and columns for {} contacts of dimension {}, found {} x {}",
                         where, size, problem.n_contacts(), problem.dimension, problem.W.rows(), problem.W.cols()));
  }
  if (problem.q.size() != size) {
    throw input_error("q", fmt::format("{}: expected {} numbers in q, found {}", where, size, problem.q.size()));
  }
  if (!problem.q.allFinite() || !problem.W.coeffs().allFinite()) {
    throw input_error("W", where + ": expected finite numbers in W and q, found one that is not");
  }
  for (Eigen::Index i = 0; i < problem.n_contacts(); ++i) {
    if (!(problem.mu[i] >= 0.0) || !std::isfinite(problem.mu[i])) {
      throw input_error("mu", fmt::format("{}: expected coefficients of friction >= 0, found {} at contact {}", where,
                                          problem.mu[i], i));
    }
    const double own = problem.W.coeff(problem.dimension * i, problem.dimension * i);
    if (!(own > 0.0)) {
      throw input_error("W", fmt::format("{}: expected a positive normal entry of W at each contact, found {} at "
                                         "contact {}: no motion is possible there",
                                         where, own, i));
    }
  }
}

double compute_natural_map_error(const LocalProblem& problem, const Eigen::VectorXd& r) {
  const int d = problem.dimension;
  Eigen::VectorXd y = problem.W * r + problem.q;
  for (Eigen::Index i = 0; i < problem.n_contacts(); ++i) {
    auto own = y.segment(d * i, d);
    own[0] += problem.mu[i] * own.tail(d - 1).norm();
    own = r.segment(d * i, d) - own;
    project_on_cone(own, problem.mu[i]);
  }
  const double scale = problem.q.norm();
  return (r - y).norm() / (scale > 0.0 ? scale : 1.0);
}

namespace {

/// Rounding of `across` relative to the terms of the motion at a converged angle.
constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
/// Newton's method from the direction of the last sweep takes one to four iterations.
constexpr int max_newton_iterations = 8;

}  // namespace

SingleContact<3>::SingleContact(const Eigen::Matrix3d& W, double mu) : W_(W), mu_(mu) {
  W_.computeInverseWithCheck(inverse_, has_stick_, 0.0);
  has_stick_ = has_stick_ && inverse_.allFinite();
}

bool SingleContact<3>::solve(const Eigen::Vector3d& q, Eigen::Vector3d& r) const {
  if (q[0] >= 0.0) {  // opens, or touches without reaction
    r.setZero();
    return true;
  }
  if (mu_ == 0.0) {
    r = Eigen::Vector3d(-q[0] / W_(0, 0), 0.0, 0.0);
    return true;
  }
  if (has_stick_) {
    const Eigen::Vector3d sticking = -(inverse_ * q);
    if (sticking[0] >= 0.0 && sticking.tail<2>().squaredNorm() <= mu_ * mu_ * sticking[0] * sticking[0]) {
      r = sticking;
      return true;
    }
  }
  Eigen::Vector2d t = r.tail<2>();
  if (t.isZero(0.0)) t = -q.tail<2>();
  const double length = t.norm();
  t = length > 0.0 ? Eigen::Vector2d(t / length) : Eigen::Vector2d::UnitX();
  return solve_slip_near(q, t, r) || solve_slip_globally(q, t, r);
}

SingleContact<3>::Sliding SingleContact<3>::sliding(const Eigen::Vector3d& q, const Eigen::Vector2d& t) const {
  Sliding result;
  const Eigen::Vector2d t_perpendicular(-t.y(), t.x());
  const double compliance = W_(0, 0) + mu_ * W_.block<1, 2>(0, 1).dot(t.transpose());
  // No such state exists if friction closes the contact more than the normal reaction opens it (jamming).
  if (!(compliance > 0.0)) return result;
  const double normal = -q[0] / compliance;
  const double normal_slope = -normal * mu_ * W_.block<1, 2>(0, 1).dot(t_perpendicular.transpose()) / compliance;
  const Eigen::Vector2d by_normal = W_.block<2, 1>(1, 0) + mu_ * (W_.block<2, 2>(1, 1) * t);
  const Eigen::Vector2d u = q.tail<2>() + normal * by_normal;
  const Eigen::Vector2d u_slope = normal_slope * by_normal + normal * mu_ * (W_.block<2, 2>(1, 1) * t_perpendicular);
  result.r << normal, normal * mu_ * t;
  result.along = u.dot(t);
  result.across = -u.dot(t_perpendicular);
  result.slope = -u_slope.dot(t_perpendicular) + result.along;
  result.scale = q.tail<2>().norm() + normal * by_normal.norm();
  result.possible = true;
  return result;
}

bool SingleContact<3>::solve_slip_near(const Eigen::Vector3d& q, Eigen::Vector2d t, Eigen::Vector3d& r) const {
  for (int i = 0; i < max_newton_iterations; ++i) {
    const Sliding state = sliding(q, t);
    if (!state.possible) return false;
    if (std::abs(state.across) <= rounding * (state.scale + std::abs(state.slope))) {
      if (state.along > 0.0) return false;
      r = state.r;
      return true;
    }
    const double step = state.across / state.slope;
    // A step beyond a quarter turn leads to another solution or diverges.
    if (!(std::abs(step) < 0.5 * std::numbers::pi)) return false;
    // A rotation by atan(step) instead of step keeps the order of the method and needs no trigonometry.
    t = (t - step * Eigen::Vector2d(-t.y(), t.x())).normalized();
  }
  return false;
}

/// Finds the angles at which `across` times the compliance vanishes, a trigonometric polynomial of degree two:
///
///     sum of c_k e^(i k angle), k = -2 .. 2
///
/// whose roots are those of a polynomial of degree four on the unit circle. Five samples give the coefficients.
bool SingleContact<3>::solve_slip_globally(const Eigen::Vector3d& q, const Eigen::Vector2d& estimate,
                                           Eigen::Vector3d& r) const {
  const double angle = std::atan2(estimate.y(), estimate.x());
  constexpr double circle = 2.0 * std::numbers::pi;
  std::array<std::complex<double>, 5> c{};
  for (int j = 0; j < 5; ++j) {
    const Eigen::Vector2d t(std::cos(circle * j / 5.0), std::sin(circle * j / 5.0));
    const double compliance = W_(0, 0) + mu_ * W_.block<1, 2>(0, 1).dot(t.transpose());
    const Eigen::Vector2d u =
        compliance * q.tail<2>() - q[0] * (W_.block<2, 1>(1, 0) + mu_ * (W_.block<2, 2>(1, 1) * t));
    const double value = u.x() * t.y() - u.y() * t.x();
    for (int k = -2; k <= 2; ++k)
      c[static_cast<std::size_t>(k + 2)] += value / 5.0 * std::polar(1.0, -circle * j * k / 5.0);
  }
  double largest = 0.0;
  for (const auto& coefficient : c) largest = std::max(largest, std::abs(coefficient));
  // The outer coefficients of a real function are conjugate; if they vanish, the degree is one.
  std::size_t low = 0;
  while (low < 2 && std::abs(c[low]) <= rounding * largest) ++low;
  const auto degree = static_cast<Eigen::Index>(4 - 2 * low);
  if (degree == 0) return false;
  Eigen::MatrixXcd companion = Eigen::MatrixXcd::Zero(degree, degree);
  companion.diagonal(-1).setOnes();
  for (Eigen::Index i = 0; i < degree; ++i)
    companion(i, degree - 1) = -c[low + static_cast<std::size_t>(i)] / c[4 - low];
  const Eigen::VectorXcd roots = companion.eigenvalues();
  // The solution nearest to the estimate, so that sweeps remain on one branch.
  double nearest = std::numeric_limits<double>::infinity();
  for (const std::complex<double>& root : roots) {
    Eigen::Vector3d found = r;
    // From a root off the unit circle Newton's method fails or converges to a root on it.
    const double candidate = std::arg(root);
    if (!solve_slip_near(q, {std::cos(candidate), std::sin(candidate)}, found)) continue;
    const double distance = std::abs(std::remainder(candidate - angle, circle));
    if (distance >= nearest) continue;
    nearest = distance;
    r = found;
  }
  return nearest < std::numeric_limits<double>::infinity();
}

SingleContact<2>::SingleContact(const Eigen::Matrix2d& W, double mu) : W_(W), mu_(mu) {
  W_.computeInverseWithCheck(inverse_, has_stick_, 0.0);
  has_stick_ = has_stick_ && inverse_.allFinite();
}

bool SingleContact<2>::solve(const Eigen::Vector2d& q, Eigen::Vector2d& r) const {
  if (q[0] >= 0.0) {
    r.setZero();
    return true;
  }
  if (has_stick_) {
    const Eigen::Vector2d sticking = -(inverse_ * q);
    if (sticking[0] >= 0.0 && std::abs(sticking[1]) <= mu_ * sticking[0]) {
      r = sticking;
      return true;
    }
  }
  const double first = (r[1] != 0.0 ? r[1] : -q[1]) < 0.0 ? -1.0 : 1.0;
  for (const double t : {first, -first}) {
    const double compliance = W_(0, 0) + mu_ * t * W_(0, 1);
    if (!(compliance > 0.0)) continue;
    const double normal = -q[0] / compliance;
    if ((q[1] + normal * (W_(1, 0) + mu_ * t * W_(1, 1))) * t > 0.0) continue;
    r << normal, normal * mu_ * t;
    return true;
  }
  return false;
}

}  // namespace heelstrike::friction
