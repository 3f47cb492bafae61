#include "mbs_server/analysis/muscle_problem.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

/// a^p and its derivative; p a^(p-1) at a = 0 is 0 for p > 1.
struct Power {
  double value = 0.0;
  double slope = 0.0;
};
Power power(double a, double p) {
  if (p == 2.0) return {.value = a * a, .slope = 2.0 * a};
  return {.value = std::pow(a, p), .slope = p * std::pow(a, p - 1.0)};
}

}  // namespace

MuscleProblem::MuscleProblem(System& system, ContactExchange& exchange, const ForceElement& contact_force,
                             std::vector<OptimizedCoordinate> coordinates, std::vector<OptimizedMuscle> muscles,
                             MuscleObjective objective, std::vector<std::shared_ptr<FrameMotion>> recorded)
    : system_(system),
      exchange_(exchange),
      coordinates_(std::move(coordinates)),
      muscles_(std::move(muscles)),
      objective_(objective),
      recorded_(std::move(recorded)) {
  for (const auto& force : system.forces()) {
    if (force.get() == &contact_force) contact_force_ = force.get();
  }
  n_secondary_ = std::ranges::count(coordinates_, true, &OptimizedCoordinate::secondary);
}

void MuscleProblem::begin(double t, const ConstVector& past, double interval, const ConstVector& q,
                          const ConstVector& qd) {
  t_ = t;
  past_ = past;
  interval_ = interval;
  q_ = q;
  qd_ = qd;
  is_evaluated_ = is_placed_ = false;
  // Results must not depend on the path of the solver in earlier frames.
  system_.reset_factorisation();
}

void MuscleProblem::move_to(const ConstVector& s) {
  Eigen::Index i = 0;
  for (const OptimizedCoordinate& coordinate : coordinates_) {
    if (!coordinate.secondary) continue;
    const double rate = interval_ > 0.0 ? (s[i] - past_[i]) / interval_ : 0.0;
    coordinate.motion->set({.f = s[i], .d = rate, .dd = 0.0});
    ++i;
  }
  system_.project(t_, q_, qd_);
}

/// nu_k and J_k: the velocity that a unit rate of each coordinate prescribes, from the difference of two probes,
/// because nu is linear in the rates.
void MuscleProblem::find_directions() {
  const VectorX rest = VectorX::Zero(q_.size());
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  nu_.resize(system_.n_constraints(), n);
  directions_.resize(q_.size(), n);
  for (const OptimizedCoordinate& coordinate : coordinates_) coordinate.motion->probe(0.0);
  const VectorX none = system_.velocity_residual(t_, q_, rest);
  for (Eigen::Index k = 0; k < n; ++k) {
    FrameMotion& motion = *coordinates_[static_cast<std::size_t>(k)].motion;
    motion.probe(1.0);
    nu_.col(k) = none - system_.velocity_residual(t_, q_, rest);
    motion.probe(0.0);
    directions_.col(k) = system_.solve_min_norm_change(t_, q_, nu_.col(k));
  }
  for (const OptimizedCoordinate& coordinate : coordinates_) coordinate.motion->release();
}

const MuscleProblem::Loads& MuscleProblem::evaluate(const ConstVector& a, const ConstVector& s, bool tangents) {
  if (is_evaluated_ && a_ == a && s_ == s && (has_tangents_ || !tangents)) return loads_;
  is_evaluated_ = false;
  if (!is_placed_ || s_ != s) {
    is_placed_ = false;
    move_to(s);
    find_directions();
    s_ = s;
    is_placed_ = true;
  }
  for (std::size_t m = 0; m < muscles_.size(); ++m) {
    muscles_[m].force->set_activation(a[static_cast<Eigen::Index>(m)], objective_.isometric);
  }
  const MotionState at{t_, q_, qd_};
  // The force of a driver is -Phi_q' lambda, and J_k'Phi_q' = nu_k'.
  loads_.R = -nu_.transpose() * system_.accelerations(at).lambda;
  if (objective_.contact_energy_weight != 0.0) {
    VectorX g = VectorX::Zero(q_.size());
    EnergyTerms energy;
    contact_force_->add_forces(at, g, energy);
    loads_.energy = energy.potential;
    // The stored energy falls by the work of the contact forces.
    loads_.energy_s = -directions_.rightCols(n_secondary_).transpose() * g;
  }
  if (tangents) add_tangents(at);
  a_ = a;
  has_tangents_ = tangents;
  is_evaluated_ = true;
  return loads_;
}

void MuscleProblem::add_tangents(const MotionState& at) {
  const auto n = static_cast<Eigen::Index>(coordinates_.size());
  loads_.by_a.resize(n, static_cast<Eigen::Index>(muscles_.size()));
  VectorX g_a(q_.size());
  for (std::size_t m = 0; m < muscles_.size(); ++m) {
    g_a.setZero();
    muscles_[m].force->add_activation_tangent(at, g_a);
    loads_.by_a.col(static_cast<Eigen::Index>(m)).noalias() = -directions_.transpose() * g_a;
  }
  loads_.by_s.resize(n, n_secondary_);
  if (n_secondary_ == 0) return;
  system_.linearize(at);
  // Secondary coordinates are the last ones.
  for (Eigen::Index j = 0; j < n_secondary_; ++j) {
    const Eigen::Index k = n - n_secondary_ + j;
    const VectorX rate = interval_ > 0.0 ? VectorX(nu_.col(k) / interval_) : VectorX::Zero(nu_.rows());
    const VectorX x_v = system_.rate_change_along(at, directions_.col(k), rate);
    loads_.by_s.col(j).noalias() = -nu_.transpose() * system_.multiplier_change(directions_.col(k), x_v);
  }
}

Eigen::MatrixXd MuscleProblem::reduced_mass() const {
  Eigen::MatrixXd momentum(directions_.rows(), directions_.cols());
  for (Eigen::Index k = 0; k < directions_.cols(); ++k) system_.multiply_mass(directions_.col(k), momentum.col(k));
  return directions_.transpose() * momentum;
}

/// Newton's method for R_s = 0 with the rates (s - past) / interval. @returns false without convergence
bool MuscleProblem::balance_secondary(const VectorX& a, VectorX& s) {
  constexpr int max_iterations = 30;
  constexpr int max_halvings = 6;
  // [rad], [m] Newton's method converges quadratically: the next error is that of rounding.
  constexpr double tolerance = 1e-9;
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    const Loads& loads = evaluate(a, s, true);
    const double before = loads.R.tail(n_secondary_).norm();
    VectorX step = -loads.by_s.bottomRows(n_secondary_).partialPivLu().solve(loads.R.tail(n_secondary_));
    if (!step.allFinite()) return false;
    if (step.lpNorm<Eigen::Infinity>() < tolerance) return true;
    for (int halving = 0; halving <= max_halvings; ++halving, step *= 0.5) {
      try {
        if (evaluate(a, s + step, false).R.tail(n_secondary_).norm() < before) break;
      } catch (const RecoverableError&) {
        if (halving == max_halvings) throw;
      }
    }
    s += step;
  }
  return false;
}

VectorX MuscleProblem::settle(double t, double activation, double interval, VectorX s, VectorX& q, VectorX& qd) {
  struct Hold {
    const std::vector<std::shared_ptr<FrameMotion>>& motions;
    explicit Hold(const std::vector<std::shared_ptr<FrameMotion>>& all) : motions(all) {
      for (const auto& motion : motions) motion->hold(true);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() {
      for (const auto& motion : motions) motion->hold(false);
    }
  } const hold(recorded_);
  return approach_equilibrium(t, activation, interval, std::move(s), q, qd);
}

VectorX MuscleProblem::approach_equilibrium(double t, double activation, double interval, VectorX s, VectorX& q,
                                            VectorX& qd) {
  // Backward Euler steps of the dampers, which grow until the coordinates rest.
  constexpr int max_steps = 200;
  constexpr double growth = 2.0;
  constexpr double max_growth = 1e4;
  constexpr double rest = 1e-8;  // [rad], [m] in a step that is long beside the times of the dampers
  begin(t, s, interval, q, qd);
  const VectorX a = VectorX::Constant(static_cast<Eigen::Index>(muscles_.size()), activation);
  double factor = 1.0;
  for (int step = 0; step < max_steps; ++step) {
    past_ = s;
    interval_ = factor * interval;
    is_placed_ = is_evaluated_ = false;
    VectorX next = s;
    bool is_balanced = false;
    try {
      is_balanced = balance_secondary(a, next);
    } catch (const RecoverableError&) {
      is_placed_ = false;
    }
    if (!is_balanced) {
      factor /= growth * growth;
      if (factor < 1.0 / max_growth) break;
      q_ = q;
      qd_ = qd;
      continue;
    }
    const double change = (next - s).lpNorm<Eigen::Infinity>();
    s = next;
    q = q_;
    qd = qd_;
    if (factor >= max_growth && change < rest) return s;
    factor = std::min(growth * factor, max_growth);
  }
  throw RecoverableError(
      fmt::format("the secondary coordinates have no equilibrium near their values at the start, with "
                  "an activation of {} at t = {} s",
                  activation, t));
}

MuscleFrame MuscleProblem::solve(double t, const ConstVector& past, double interval, double limit,
                                 const MuscleFrame& guess, VectorX& q, VectorX& qd) {
  begin(t, past, interval, q, qd);
  const auto n_a = static_cast<Eigen::Index>(muscles_.size());
  const auto n_r = static_cast<Eigen::Index>(coordinates_.size());
  const Eigen::Index n = n_a + n_secondary_ + n_r;
  // Unknowns are scaled so that the second derivatives of the objective are one: the initial matrix of the
  // quasi-Newton method is then exact for activations and reserves. Secondary coordinates have no part in it.
  VectorX scale = VectorX::Ones(n);
  MinimumProblem problem;
  problem.lower = problem.upper = VectorX::Zero(n);
  problem.n_constraints = static_cast<int>(n_r);
  for (Eigen::Index m = 0; m < n_a; ++m) {
    const OptimizedMuscle& muscle = muscles_[static_cast<std::size_t>(m)];
    scale[m] = 1.0 / std::sqrt(2.0 * std::max(muscle.weight, 1e-12));
    problem.lower[m] = muscle.force->min_activation();
    problem.upper[m] = 1.0;
  }
  for (Eigen::Index k = 0, j = n_a; k < n_r; ++k) {
    const OptimizedCoordinate& coordinate = coordinates_[static_cast<std::size_t>(k)];
    const Eigen::Index r = n_a + n_secondary_ + k;
    scale[r] = std::max(coordinate.reserve, 1e-12) / std::sqrt(2.0 * objective_.reserve_weight);
    problem.upper[r] = coordinate.reserve > 0.0 ? HUGE_VAL : 0.0;
    problem.lower[r] = -problem.upper[r];
    if (!coordinate.secondary) continue;
    problem.lower[j] = past[j - n_a] - limit * coordinate.max_change;
    problem.upper[j] = past[j - n_a] + limit * coordinate.max_change;
    scale[j] = coordinate.max_change;
    ++j;
  }
  problem.lower.array() /= scale.array();
  problem.upper.array() /= scale.array();
  const auto value_of = [&](const VectorX& x, Eigen::Ref<VectorX> gradient) {
    double J = 0.0;
    VectorX by = VectorX::Zero(n);
    for (Eigen::Index m = 0; m < n_a; ++m) {
      const Power term = power(x[m], objective_.exponent);
      const double weight = muscles_[static_cast<std::size_t>(m)].weight;
      J += weight * term.value;
      by[m] = weight * term.slope;
    }
    for (Eigen::Index k = 0; k < n_r; ++k) {
      const double reserve = coordinates_[static_cast<std::size_t>(k)].reserve;
      if (!(reserve > 0.0)) continue;
      const Eigen::Index r = n_a + n_secondary_ + k;
      J += objective_.reserve_weight * (x[r] / reserve) * (x[r] / reserve);
      by[r] = 2.0 * objective_.reserve_weight * x[r] / (reserve * reserve);
    }
    if (objective_.contact_energy_weight != 0.0) {
      const Loads& loads = evaluate(x.head(n_a), x.segment(n_a, n_secondary_), gradient.size() > 0);
      J += objective_.contact_energy_weight * loads.energy;
      by.segment(n_a, n_secondary_) = objective_.contact_energy_weight * loads.energy_s;
    }
    if (gradient.size() > 0) gradient = by.cwiseProduct(scale);
    return J;
  };
  // Where forces are undefined (contact too deep, a path without a direction), a large value shortens the step.
  constexpr double undefined = 1e12;
  bool is_defined_once = false;
  VectorX last_gradient = VectorX::Zero(n);
  VectorX last_residuals = VectorX::Zero(n_r);
  Eigen::MatrixXd last_jacobian = Eigen::MatrixXd::Zero(n_r, n);
  problem.objective = [&](const ConstVector& scaled, Eigen::Ref<VectorX> gradient) {
    const VectorX x = scaled.cwiseProduct(scale);
    try {
      (void)evaluate(x.head(n_a), x.segment(n_a, n_secondary_), gradient.size() > 0);
      const double value = value_of(x, gradient);
      if (gradient.size() > 0) last_gradient = gradient;
      is_defined_once = true;
      return value;
    } catch (const RecoverableError&) {
      if (!is_defined_once) throw;
      if (gradient.size() > 0) gradient = last_gradient;
      return undefined;
    }
  };
  problem.constraints = [&](const ConstVector& scaled, Eigen::Ref<VectorX> residuals,
                            Eigen::Ref<Eigen::MatrixXd> jacobian) {
    const VectorX x = scaled.cwiseProduct(scale);
    try {
      const Loads& loads = evaluate(x.head(n_a), x.segment(n_a, n_secondary_), jacobian.size() > 0);
      last_residuals = loads.R - x.tail(n_r);
      if (jacobian.size() > 0) {
        last_jacobian << loads.by_a, loads.by_s, -Eigen::MatrixXd::Identity(n_r, n_r);
        last_jacobian *= scale.asDiagonal();
      }
    } catch (const RecoverableError&) {
      if (!is_defined_once) throw;
    }
    residuals = last_residuals;
    if (jacobian.size() > 0) jacobian = last_jacobian;
  };
  VectorX x(n);
  x << guess.activations, guess.secondary, guess.reserves;
  x = x.cwiseQuotient(scale);
  const MinimumResult minimum = minimize(problem, x);
  x = x.cwiseProduct(scale);
  MuscleFrame frame{.activations = x.head(n_a),
                    .secondary = x.segment(n_a, n_secondary_),
                    .reserves = x.tail(n_r),
                    .loads = {},
                    .residual = {},
                    .n_evaluations = minimum.n_evaluations,
                    .reason = minimum.reason};
  const Loads loads = evaluate(frame.activations, frame.secondary, true);
  for (Eigen::Index k = 0; k < n_r; ++k) {
    // The solver satisfies the equation to its tolerance; the reserve takes the rest.
    if (coordinates_[static_cast<std::size_t>(k)].reserve > 0.0) frame.reserves[k] = loads.R[k];
  }
  frame.residual = reduced_mass().ldlt().solve(loads.R - frame.reserves);
  frame.loads = VectorX::Zero(n_r);
  x << frame.activations, frame.secondary, frame.reserves;
  VectorX no_gradient;
  frame.objective = value_of(x, no_gradient);
  for (std::size_t m = 0; m < muscles_.size(); ++m) {
    muscles_[m].force->set_activation(0.0, objective_.isometric);
  }
  frame.loads = -loads.R - nu_.transpose() * system_.accelerations({t_, q_, qd_}).lambda;
  for (std::size_t m = 0; m < muscles_.size(); ++m) {
    muscles_[m].force->set_activation(frame.activations[static_cast<Eigen::Index>(m)], objective_.isometric);
  }
  q = q_;
  qd = qd_;
  return frame;
}

std::string MuscleProblem::describe_lack(const MuscleFrame& frame) const {
  Eigen::Index worst = 0;
  const VectorX lacking = loads_.R - frame.reserves;
  frame.residual.cwiseAbs().maxCoeff(&worst);
  const OptimizedCoordinate& coordinate = coordinates_[static_cast<std::size_t>(worst)];
  const char* unit = coordinate.unit == "rad" ? "N m" : "N";
  std::string text = fmt::format("coordinate '{}' lacks {:.4g} {} (acceleration error {:.3g} {}/s^2)", coordinate.name,
                                 lacking[worst], unit, frame.residual[worst], coordinate.unit);
  std::vector<std::size_t> order(muscles_.size());
  for (std::size_t m = 0; m < order.size(); ++m) order[m] = m;
  const auto help = [&](std::size_t m) {
    return -loads_.by_a(worst, static_cast<Eigen::Index>(m)) * (lacking[worst] > 0.0 ? 1.0 : -1.0);
  };
  std::ranges::stable_sort(order, std::ranges::greater{}, help);
  constexpr std::size_t n_named = 3;
  for (std::size_t i = 0; i < std::min(n_named, order.size()) && help(order[i]) > 0.0; ++i) {
    text += fmt::format("{} {} with {:.3g} {} at full activation, activation {:.3f}",
                        i == 0 ? "; strongest muscles:" : ",", muscles_[order[i]].name, help(order[i]), unit,
                        frame.activations[static_cast<Eigen::Index>(order[i])]);
  }
  return text;
}

}  // namespace heelstrike::mbs
