#include "mbs_server/integrators/one_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace heelstrike::mbs {
namespace {

/// Cubic on [0, 1] with values x0, x1 and slopes d0, d1 at the ends.
Eigen::VectorXd hermite(double s, const Eigen::VectorXd& x0, const Eigen::VectorXd& d0, const Eigen::VectorXd& x1,
                        const Eigen::VectorXd& d1) {
  // The chord, and two cubics that vanish at both ends with slopes that bring d0 and d1: a constant is kept to the last
  // bit.
  const Eigen::VectorXd rise = x1 - x0;
  return x0 + s * rise + s * (1.0 - s) * (1.0 - s) * (d0 - rise) + s * s * (1.0 - s) * (rise - d1);
}

}  // namespace

OneStepIntegrator::OneStepIntegrator(const IntegratorSpec& spec, Problem& problem, bool projects)
    : spec_(spec),
      problem_(problem),
      projects_(projects),
      n_y_(problem.size()),
      n_z_(problem.n_quadratures()),
      g_(problem.n_roots()),
      g_end_(problem.n_roots()) {
  for (Node* node : {&from_, &to_}) {
    node->Y.setZero(n_y_ + n_z_);
    node->F.setZero(n_y_ + n_z_);
  }
}

void OneStepIntegrator::restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z,
                                std::optional<double> max_step, std::span<const int> directions) {
  y_ = y;
  z_ = z;
  t_ = t;
  to_.t = t;
  to_.Y << y, z;
  directions_.assign(directions.begin(), directions.end());
  directions_.resize(static_cast<std::size_t>(problem_.n_roots()), 0);
  at_end_ = true;
  first_ = true;
  ++n_restarts_;
  max_step_ = max_step;
  begin(to_);
  bound_changed();
}

void OneStepIntegrator::set_max_step(std::optional<double> max_step) {
  max_step_ = max_step;
  bound_changed();
}

double OneStepIntegrator::max_step() const {
  return max_step_.value_or(spec_.max_step.value_or(std::numeric_limits<double>::infinity()));
}

void OneStepIntegrator::evaluate_roots(double t, const Eigen::VectorXd& y, Eigen::VectorXd& values) {
  if (problem_.n_roots() > 0) problem_.roots(t, y, values);
}

void OneStepIntegrator::take_next(double t_end) {
  std::swap(from_, to_);
  // A failed step is followed by a restart, which starts from `to_` again.
  at_end_ = false;
  attempted_time_ = from_.t;
  if (first_) {
    evaluate_roots(from_.t, y_, g_);
    stand_ins_ = false;
  }
  advance(t_end, from_, to_);
  first_ = false;
  attempted_time_ = to_.t;
  if (problem_.no_roots(from_.t, from_.Y.head(n_y_), to_.t, to_.Y.head(n_y_))) {
    g_.setOnes();
    g_end_.setOnes();
    stand_ins_ = true;
    return;
  }
  // A search starts from the true values at both ends.
  if (std::exchange(stand_ins_, false)) evaluate_roots(from_.t, from_.Y.head(n_y_), g_);
  evaluate_roots(to_.t, to_.Y.head(n_y_), g_end_);
}

bool OneStepIntegrator::crosses(int root, const Eigen::VectorXd& before, const Eigen::VectorXd& after) const {
  // A function that starts at zero is only leaving its root.
  if (before[root] == 0.0) return false;
  const bool rising = before[root] < 0.0;
  // A function that ends at zero has arrived: the step ends at the root, and the next one starts from it.
  if (rising ? after[root] < 0.0 : after[root] > 0.0) return false;
  const int direction = directions_[static_cast<std::size_t>(root)];
  return direction == 0 || (direction > 0) == rising;
}

std::vector<int> OneStepIntegrator::crossings(const Eigen::VectorXd& before, const Eigen::VectorXd& after) const {
  std::vector<int> found;
  for (int i = 0; i < static_cast<int>(before.size()); ++i) {
    if (crosses(i, before, after)) found.push_back(i);
  }
  return found;
}

void OneStepIntegrator::reach_end() {
  t_ = to_.t;
  y_ = to_.Y.head(n_y_);
  z_ = to_.Y.tail(n_z_);
  g_ = g_end_;
  at_end_ = true;
}

/// Narrows [t_, end of the step] down to the first root; leaves t_, y_, z_, g_ behind it.
std::vector<int> OneStepIntegrator::locate() {
  Eigen::VectorXd low = g_;
  Eigen::VectorXd high = g_end_;
  Eigen::VectorXd y_low;
  Eigen::VectorXd middle(low.size());
  Eigen::VectorXd y(n_y_);
  Eigen::VectorXd z(n_z_);
  double t_low = t_;
  double t_high = to_.t;
  reach_end();
  // Weights of the Illinois variant: the end that stays is trusted less each time.
  double weight_low = 1.0;
  double weight_high = 1.0;
  int last_side = 0;
  // Times are not known more exactly than that.
  const double tolerance = 4.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t_low), std::abs(t_high));
  constexpr int max_iterations = 100;
  for (int iteration = 0; iteration < max_iterations && t_high - t_low > tolerance; ++iteration) {
    // The root that a straight line would meet first.
    double fraction = 1.0;
    for (const int i : crossings(low, high)) {
      const double a = weight_low * std::abs(low[i]);
      const double b = weight_high * std::abs(high[i]);
      fraction = std::min(fraction, a / (a + b));
    }
    // Every third step halves, so that a flat function does not creep.
    if (iteration % 3 == 2) fraction = 0.5;
    // A guess right on an end would not narrow the bracket.
    const double edge = std::min(0.25, 0.5 * tolerance / (t_high - t_low));
    const double t = t_low + std::clamp(fraction, edge, 1.0 - edge) * (t_high - t_low);
    if (t <= t_low || t >= t_high) break;
    dense_state(t, y, z);
    if (projects_) problem_.project(t, y);
    evaluate_roots(t, y, middle);
    const bool before = crossings(low, middle).empty();
    const int side = before ? -1 : +1;
    // Plain false position keeps one end for ever on a convex function; halving the value of the end that stays twice
    // makes the order 1.44 [dowell1971].
    weight_low = side > 0 && last_side > 0 ? 0.5 * weight_low : 1.0;
    weight_high = side < 0 && last_side < 0 ? 0.5 * weight_high : 1.0;
    last_side = side;
    if (before) {
      t_low = t;
      low = middle;
    } else {
      t_high = t;
      high = middle;
      t_ = t;
      y_ = y;
      z_ = z;
      g_ = middle;
      at_end_ = false;
    }
  }
  return crossings(low, high);
}

StepResult OneStepIntegrator::step(double t_end) {
  const bool fresh = at_end_;
  if (fresh) take_next(t_end);
  // A step that ends at several roots tells its error once.
  StepResult result{
      .t = to_.t, .step_size = to_.t - from_.t, .roots = crossings(g_, g_end_), .error = fresh ? step_error() : 0.0};
  if (result.roots.empty()) {
    reach_end();
  } else {
    result.roots = locate();
    result.t = t_;
  }
  return result;
}

void OneStepIntegrator::interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) {
  dense_state(t, y, z);
}

void OneStepIntegrator::dense_state(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) {
  dense_.resize(n_y_ + n_z_);
  dense_output(t, from_, to_, dense_);
  y = dense_.head(n_y_);
  z = dense_.tail(n_z_);
}

void OneStepIntegrator::dense_output(double t, const Node& from, const Node& to, Eigen::VectorXd& Y) {
  const double h = to.t - from.t;
  // Quintic Hermite polynomial in s on [0, 1]: Taylor polynomial of second order at the left end, and three
  // coefficients that meet position, velocity and acceleration at the right one.
  const double s = (t - from.t) / h;
  const double s2 = s * s;
  const double s3 = s2 * s;
  const int n = problem_.n_positions();
  const auto q0 = from.Y.head(n);
  const auto v0 = from.Y.segment(n, n);
  const auto a0 = from.F.segment(n, n);
  const auto q1 = to.Y.head(n);
  const auto v1 = to.Y.segment(n, n);
  const auto a1 = to.F.segment(n, n);
  // Coefficients of s^3, s^4, s^5 from what remains at s = 1 after the Taylor polynomial of the left end.
  const Eigen::VectorXd A = (q1 - q0) - h * v0 - 0.5 * h * h * a0;
  const Eigen::VectorXd B = h * (v1 - v0) - h * h * a0;
  const Eigen::VectorXd C = h * h * (a1 - a0);
  const Eigen::VectorXd c3 = 10.0 * A - 4.0 * B + 0.5 * C;
  const Eigen::VectorXd c4 = -15.0 * A + 7.0 * B - C;
  const Eigen::VectorXd c5 = 6.0 * A - 3.0 * B + 0.5 * C;
  Y.head(n) = q0 + s * h * v0 + 0.5 * s2 * h * h * a0 + s3 * (c3 + s * c4 + s2 * c5);
  Y.segment(n, n) = hermite(s, v0, h * a0, v1, h * a1);
  // The derivative of the quintic is this cubic plus k s^2 (1 - s)^2; in short steps k would only be rounding noise /
  // h.
  const Eigen::VectorXd mismatch = q1 - q0 - 0.5 * h * (v0 + v1) - h * h / 12.0 * (a0 - a1);
  const double noise = 16.0 * std::numeric_limits<double>::epsilon() * q1.lpNorm<Eigen::Infinity>();
  if (mismatch.lpNorm<Eigen::Infinity>() > noise) Y.segment(n, n) += 30.0 / h * s2 * (1.0 - s) * (1.0 - s) * mismatch;
  // Of states of the first order, and of quadratures, no second derivatives are known.
  const int m = n_y_ + n_z_ - 2 * n;
  Y.tail(m) = hermite(s, from.Y.tail(m), h * from.F.tail(m), to.Y.tail(m), h * to.F.tail(m));
}

}  // namespace heelstrike::mbs
