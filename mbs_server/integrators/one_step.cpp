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
  // The chord, and two cubics that vanish at both ends and give the slopes d0 and d1: constants are reproduced to the
  // last bit.
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
      roots_(problem) {
  for (Node* node : {&from_, &to_}) {
    node->Y.setZero(n_y_ + n_z_);
    node->F.setZero(n_y_ + n_z_);
  }
}

void OneStepIntegrator::restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z,
                                std::optional<double> max_step, std::span<const int> directions) {
  y_ = y;
  z_ = z;
  to_.t = t;
  to_.Y << y, z;
  roots_.set_directions(directions);
  first_ = true;
  ++n_restarts_;
  max_step_ = max_step;
  begin(to_);
  max_step_changed();
}

void OneStepIntegrator::set_max_step(std::optional<double> max_step) {
  max_step_ = max_step;
  max_step_changed();
}

double OneStepIntegrator::max_step() const {
  return max_step_.value_or(spec_.max_step.value_or(std::numeric_limits<double>::infinity()));
}

void OneStepIntegrator::advance_solver(double t_end) {
  std::swap(from_, to_);
  // After a failed step a restart begins at `to_` again.
  attempted_time_ = from_.t;
  if (first_) roots_.begin(from_.t, y_);
  advance(t_end, from_, to_);
  first_ = false;
  attempted_time_ = to_.t;
  roots_.set_step(to_.t, to_.Y.head(n_y_));
}

StepResult OneStepIntegrator::step(double t_end) {
  const bool fresh = first_ || roots_.at_end();
  if (fresh) advance_solver(t_end);
  StepResult result;
  result.roots = roots_.advance([this](double t, Eigen::VectorXd& y) { state_at(t, y, z_); });
  result.t = roots_.time();
  result.inside = !roots_.at_end();
  result.step_size = to_.t - from_.t;
  // A step with several roots reports its error once.
  result.error = fresh ? step_error() : 0.0;
  y_ = to_.Y.head(n_y_);
  z_ = to_.Y.tail(n_z_);
  if (result.inside) state_at(result.t, y_, z_);
  return result;
}

void OneStepIntegrator::state_at(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) {
  dense_state(t, y, z);
  if (projects_) problem_.project(t, y);
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
  // coefficients that match position, velocity and acceleration at the right end.
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
  // Coefficients of s^3, s^4, s^5 from the remainder at s = 1 after the Taylor polynomial of the left end.
  const Eigen::VectorXd A = (q1 - q0) - h * v0 - 0.5 * h * h * a0;
  const Eigen::VectorXd B = h * (v1 - v0) - h * h * a0;
  const Eigen::VectorXd C = h * h * (a1 - a0);
  const Eigen::VectorXd c3 = 10.0 * A - 4.0 * B + 0.5 * C;
  const Eigen::VectorXd c4 = -15.0 * A + 7.0 * B - C;
  const Eigen::VectorXd c5 = 6.0 * A - 3.0 * B + 0.5 * C;
  Y.head(n) = q0 + s * h * v0 + 0.5 * s2 * h * h * a0 + s3 * (c3 + s * c4 + s2 * c5);
  Y.segment(n, n) = hermite(s, v0, h * a0, v1, h * a1);
  // The derivative of the quintic is this cubic plus k s^2 (1 - s)^2; in short steps k would be rounding noise / h.
  const Eigen::VectorXd mismatch = q1 - q0 - 0.5 * h * (v0 + v1) - h * h / 12.0 * (a0 - a1);
  const double noise = 16.0 * std::numeric_limits<double>::epsilon() * q1.lpNorm<Eigen::Infinity>();
  if (mismatch.lpNorm<Eigen::Infinity>() > noise) Y.segment(n, n) += 30.0 / h * s2 * (1.0 - s) * (1.0 - s) * mismatch;
  // First-order states and quadratures have no known second derivatives.
  const int m = n_y_ + n_z_ - 2 * n;
  Y.tail(m) = hermite(s, from.Y.tail(m), h * from.F.tail(m), to.Y.tail(m), h * to.F.tail(m));
}

}  // namespace heelstrike::mbs
