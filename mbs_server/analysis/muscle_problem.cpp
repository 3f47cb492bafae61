#include "mbs_server/analysis/muscle_problem.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
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

/// Scaled distance within which an unknown is at its bound: the solver stops at steps of 1e-10 relative to all
/// unknowns, up to four digits before the bound.
constexpr double bound_distance = 1e-6;
/// Part of its radius within which a solution lies at the bound of a trust region; a further region costs little.
constexpr double region_edge = 0.01;

}  // namespace

MuscleProblem::MuscleProblem(System& system, const ForceElement& contact_force,
                             std::vector<OptimizedCoordinate> coordinates, std::vector<OptimizedMuscle> muscles,
                             MuscleObjective objective, std::vector<std::shared_ptr<FrameMotion>> recorded)
    : system_(system),
      coordinates_(std::move(coordinates)),
      muscles_(std::move(muscles)),
      objective_(objective),
      recorded_(std::move(recorded)) {
  for (const auto& force : system.forces()) {
    if (force.get() == &contact_force) contact_force_ = force.get();
  }
  for (const OptimizedCoordinate& coordinate : coordinates_) motions_.push_back(coordinate.motion);
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

const MuscleProblem::Loads& MuscleProblem::evaluate(const ConstVector& a, const ConstVector& s, bool tangents) {
  if (is_evaluated_ && a_ == a && s_ == s && (has_tangents_ || !tangents)) return loads_;
  is_evaluated_ = false;
  if (!is_placed_ || s_ != s) {
    is_placed_ = false;
    move_to(s);
    find_directions(system_, t_, q_, motions_, along_);
    s_ = s;
    is_placed_ = true;
  }
  for (std::size_t m = 0; m < muscles_.size(); ++m) {
    muscles_[m].force->set_activation(a[static_cast<Eigen::Index>(m)], objective_.isometric);
  }
  const MotionState at{t_, q_, qd_};
  // The force of a driver is -Phi_q' lambda, and J_k'Phi_q' = nu_k'.
  loads_.R = -along_.nu.transpose() * system_.accelerations(at).lambda;
  if (objective_.contact_energy_weight != 0.0) {
    VectorX g = VectorX::Zero(q_.size());
    EnergyTerms energy;
    contact_force_->add_forces(at, g, energy);
    loads_.energy = energy.potential;
    // The stored energy falls by the work of the contact forces.
    loads_.energy_s = -along_.J.rightCols(n_secondary_).transpose() * g;
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
    loads_.by_a.col(static_cast<Eigen::Index>(m)).noalias() = -along_.J.transpose() * g_a;
  }
  loads_.by_s.resize(n, n_secondary_);
  if (n_secondary_ == 0) return;
  // Secondary coordinates are the last ones.
  const double rate = interval_ > 0.0 ? 1.0 / interval_ : 0.0;
  const auto moved = along_.J.rightCols(n_secondary_);
  system_.linearize_along(at, moved);
  const Eigen::MatrixXd X_v = system_.rate_changes_along(at, moved, rate * along_.nu.rightCols(n_secondary_));
  for (Eigen::Index j = 0; j < n_secondary_; ++j) {
    loads_.by_s.col(j).noalias() = -along_.nu.transpose() * system_.multiplier_change(moved.col(j), X_v.col(j));
  }
}

Eigen::MatrixXd MuscleProblem::reduced_mass() const {
  Eigen::MatrixXd momentum(along_.J.rows(), along_.J.cols());
  for (Eigen::Index k = 0; k < along_.J.cols(); ++k) system_.multiply_mass(along_.J.col(k), momentum.col(k));
  return along_.J.transpose() * momentum;
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

VectorX MuscleProblem::settle(double t, double activation, double interval, const VectorX& s, VectorX& q, VectorX& qd) {
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
  constexpr int max_earlier = 100;  // intervals
  double first_time = t;
  if (has_guess()) first_time -= max_earlier * interval;
  for (const auto& motion : recorded_) first_time = std::max(first_time, motion->first_time());
  for (const OptimizedCoordinate& coordinate : coordinates_) {
    if (coordinate.guess) first_time = std::max(first_time, coordinate.guess->first_time());
  }
  const VectorX q_start = q;
  const VectorX qd_start = qd;
  std::optional<RecoverableError> first_error;
  VectorX start = s;
  for (double from = t; from == t || from >= first_time; from -= interval, start = guess(from)) {
    try {
      place(from, start, q, qd);
      return follow_equilibrium(from, t, activation, interval, start, q, qd);
    } catch (const RecoverableError& error) {
      if (!first_error) first_error = error;
    }
  }
  q = q_start;
  qd = qd_start;
  throw *first_error;
}

/// Equilibrium at time t, through those at times since `from` with its start near s.
VectorX MuscleProblem::follow_equilibrium(double from, double t, double activation, double interval, VectorX s,
                                          VectorX& q, VectorX& qd) {
  s = approach_equilibrium(from, activation, interval, std::move(s), q, qd);
  for (double step = t - from; from < t;) {
    const double next = std::min(from + step, t);
    VectorX q_next = q;
    VectorX qd_next = qd;
    try {
      s = approach_equilibrium(next, activation, interval, s, q_next, qd_next);
    } catch (const RecoverableError&) {
      step *= 0.5;
      if (step < 0.1 * interval) throw;
      continue;
    }
    from = next;
    q = q_next;
    qd = qd_next;
  }
  return s;
}

bool MuscleProblem::has_guess() const {
  return std::ranges::any_of(coordinates_,
                             [](const OptimizedCoordinate& coordinate) { return coordinate.guess != nullptr; });
}

VectorX MuscleProblem::guess(double t) const {
  VectorX s(n_secondary_);
  for (Eigen::Index i = 0; const OptimizedCoordinate& coordinate : coordinates_) {
    if (coordinate.secondary) s[i++] = coordinate.guess ? coordinate.guess->at(t).f : coordinate.motion->at(t).f;
  }
  return s;
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
                  "an activation of {} at t = {:.6g} s",
                  activation, t));
}

/// Bounds and scales of the unknowns x = {a, s, r}. They are scaled so that the second derivatives of an objective with
/// p = 2 are one: the initial matrix of the quasi-Newton method is then exact for activations and reserves. Secondary
/// coordinates have no part in it.
void MuscleProblem::set_bounds(const PrecedingFrame& past, const ConstVector& centre) {
  const auto n_a = static_cast<Eigen::Index>(muscles_.size());
  const auto n_r = static_cast<Eigen::Index>(coordinates_.size());
  const Eigen::Index n = n_a + n_secondary_ + n_r;
  constexpr double min_weight = 1e-12;  // a muscle without weight has a finite scale
  scale_ = lower_ = upper_ = VectorX::Zero(n);
  for (Eigen::Index m = 0; m < n_a; ++m) {
    const OptimizedMuscle& muscle = muscles_[static_cast<std::size_t>(m)];
    scale_[m] = 1.0 / std::sqrt(2.0 * std::max(muscle.weight, min_weight));
    const ActivationRange range = past.activations.size() > 0
                                      ? muscle.force->reachable(past.activations[m], past.interval)
                                      : ActivationRange{.lower = muscle.force->min_activation(), .upper = 1.0};
    lower_[m] = range.lower;
    upper_[m] = range.upper;
  }
  for (Eigen::Index k = 0, j = n_a; k < n_r; ++k) {
    const OptimizedCoordinate& coordinate = coordinates_[static_cast<std::size_t>(k)];
    const Eigen::Index r = n_a + n_secondary_ + k;
    // A coordinate without reserve has the unknown 0 with any scale.
    const bool has_reserve = coordinate.reserve > 0.0;
    scale_[r] = has_reserve ? coordinate.reserve / std::sqrt(2.0 * objective_.reserve_weight) : 1.0;
    upper_[r] = has_reserve ? std::numeric_limits<double>::infinity() : 0.0;
    lower_[r] = -upper_[r];
    if (!coordinate.secondary) continue;
    scale_[j] = coordinate.trust_radius;
    lower_[j] = centre[j - n_a] - coordinate.trust_radius;
    upper_[j] = centre[j - n_a] + coordinate.trust_radius;
    ++j;
  }
}

double MuscleProblem::objective(const VectorX& x, VectorX& gradient) {
  const auto n_a = static_cast<Eigen::Index>(muscles_.size());
  const Eigen::Index first_reserve = n_a + n_secondary_;
  gradient.setZero(x.size());
  double J = 0.0;
  for (Eigen::Index m = 0; m < n_a; ++m) {
    const Power term = power(x[m], objective_.exponent);
    const double weight = muscles_[static_cast<std::size_t>(m)].weight;
    J += weight * term.value;
    gradient[m] = weight * term.slope;
  }
  for (std::size_t k = 0; k < coordinates_.size(); ++k) {
    const double reserve = coordinates_[k].reserve;
    if (!(reserve > 0.0)) continue;
    const Eigen::Index r = first_reserve + static_cast<Eigen::Index>(k);
    const double share = x[r] / reserve;
    J += objective_.reserve_weight * share * share;
    gradient[r] = 2.0 * objective_.reserve_weight * share / reserve;
  }
  J += objective_.contact_energy_weight * loads_.energy;
  if (objective_.contact_energy_weight != 0.0) {
    gradient.segment(n_a, n_secondary_) = objective_.contact_energy_weight * loads_.energy_s;
  }
  return J;
}

/// Derivative of R - r by the scaled unknowns. @pre loads_ has tangents
Eigen::MatrixXd MuscleProblem::scaled_jacobian() const {
  const auto n_r = static_cast<Eigen::Index>(coordinates_.size());
  Eigen::MatrixXd jacobian(n_r, scale_.size());
  jacobian << loads_.by_a, loads_.by_s, -Eigen::MatrixXd::Identity(n_r, n_r);
  return jacobian * scale_.asDiagonal();
}

/// The condition of a minimum: the gradient of the Lagrangian in the scaled unknowns, with the multipliers that make it
/// smallest, relative to the gradient of the objective. At a bound only the part counts that points inside.
double MuscleProblem::find_stationarity(const VectorX& x) {
  VectorX gradient;
  (void)objective(x, gradient);
  gradient = gradient.cwiseProduct(scale_);
  const Eigen::MatrixXd jacobian = scaled_jacobian();
  const auto is_at = [&](Eigen::Index i, double bound) { return std::abs(x[i] - bound) <= bound_distance * scale_[i]; };
  std::vector<Eigen::Index> inside;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (!is_at(i, lower_[i]) && !is_at(i, upper_[i])) inside.push_back(i);
  }
  const VectorX multipliers = jacobian(Eigen::all, inside).transpose().colPivHouseholderQr().solve(-gradient(inside));
  const VectorX lagrangian = gradient + jacobian.transpose() * multipliers;
  double squares = lagrangian(inside).squaredNorm();
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (lower_[i] == upper_[i]) continue;
    const double outward = is_at(i, lower_[i]) ? lagrangian[i] : is_at(i, upper_[i]) ? -lagrangian[i] : 0.0;
    squares += std::min(0.0, outward) * std::min(0.0, outward);
  }
  return std::sqrt(squares) / std::max(gradient.norm(), std::numeric_limits<double>::min());
}

MinimumProblem MuscleProblem::minimum_problem() {
  const auto n_a = static_cast<Eigen::Index>(muscles_.size());
  const auto n_r = static_cast<Eigen::Index>(coordinates_.size());
  MinimumProblem problem;
  problem.lower = lower_.cwiseQuotient(scale_);
  problem.upper = upper_.cwiseQuotient(scale_);
  problem.n_constraints = static_cast<int>(n_r);
  // Where forces are undefined (contact too deep, a path without a direction), a large value shortens the step. The
  // gradients there are those of the last point, which NLopt does not use for such a step.
  constexpr double undefined = 1e12;
  struct Last {
    bool is_known = false;
    VectorX gradient, residuals;
    Eigen::MatrixXd jacobian;
  };
  const auto last = std::make_shared<Last>();
  const auto is_defined = [this, last, n_a](const VectorX& x, bool tangents) {
    try {
      (void)evaluate(x.head(n_a), x.segment(n_a, n_secondary_), tangents);
      last->is_known = true;
      return true;
    } catch (const RecoverableError&) {
      if (!last->is_known) throw;
      return false;
    }
  };
  problem.objective = [this, last, is_defined](const ConstVector& scaled, Eigen::Ref<VectorX> gradient) {
    const VectorX x = scaled.cwiseProduct(scale_);
    const bool defined = is_defined(x, gradient.size() > 0);
    VectorX by_x;
    const double J = defined ? objective(x, by_x) : undefined;
    if (defined) last->gradient = by_x.cwiseProduct(scale_);
    if (gradient.size() > 0) gradient = last->gradient;
    return J;
  };
  problem.constraints = [this, last, is_defined, n_r](const ConstVector& scaled, Eigen::Ref<VectorX> residuals,
                                                      Eigen::Ref<Eigen::MatrixXd> jacobian) {
    const VectorX x = scaled.cwiseProduct(scale_);
    if (is_defined(x, jacobian.size() > 0)) {
      last->residuals = loads_.R - x.tail(n_r);
      if (jacobian.size() > 0) last->jacobian = scaled_jacobian();
    }
    residuals = last->residuals;
    if (jacobian.size() > 0) jacobian = last->jacobian;
  };
  return problem;
}

/// Generalised forces of the activated muscles: the change of R when they relax.
VectorX MuscleProblem::muscle_loads(const VectorX& activations) {
  const VectorX R = loads_.R;
  const VectorX relaxed = VectorX::Zero(activations.size());
  const VectorX loads = evaluate(relaxed, s_, false).R - R;
  (void)evaluate(activations, s_, true);
  return loads;
}

void MuscleProblem::place(double t, const ConstVector& s, VectorX& q, VectorX& qd) {
  begin(t, s, 0.0, q, qd);
  move_to(s);
  q = q_;
  qd = qd_;
}

MuscleFrame MuscleProblem::solve(double t, const PrecedingFrame& past, const MuscleFrame& guess, VectorX& q,
                                 VectorX& qd) {
  begin(t, past.secondary, past.interval, q, qd);
  const auto n_a = static_cast<Eigen::Index>(muscles_.size());
  const auto n_r = static_cast<Eigen::Index>(coordinates_.size());
  VectorX x(n_a + n_secondary_ + n_r);
  x << guess.activations, guess.secondary, guess.reserves;
  std::string at_limit;
  MinimumResult minimum;
  int n_evaluations = 0;
  for (int region = 0; region == 0 || (!at_limit.empty() && region < max_regions); ++region) {
    set_bounds(past, x.segment(n_a, n_secondary_));
    x = x.cwiseQuotient(scale_);
    minimum = minimize(minimum_problem(), x);
    x = x.cwiseProduct(scale_);
    n_evaluations += minimum.n_evaluations;
    at_limit = coordinate_at_limit(x.segment(n_a, n_secondary_));
  }
  MuscleFrame frame{.activations = x.head(n_a),
                    .secondary = x.segment(n_a, n_secondary_),
                    .reserves = x.tail(n_r),
                    .loads = {},
                    .residual = {},
                    .at_limit = at_limit,
                    .n_evaluations = n_evaluations,
                    .reason = minimum.reason};
  (void)evaluate(frame.activations, frame.secondary, true);
  for (Eigen::Index k = 0; k < n_r; ++k) {
    // The solver satisfies the equation to its tolerance; the reserve takes the rest.
    if (coordinates_[static_cast<std::size_t>(k)].reserve > 0.0) frame.reserves[k] = loads_.R[k];
  }
  x.tail(n_r) = frame.reserves;
  VectorX gradient;
  frame.objective = objective(x, gradient);
  frame.stationarity = find_stationarity(x);
  frame.residual = reduced_mass().ldlt().solve(loads_.R - frame.reserves);
  frame.loads = muscle_loads(frame.activations);
  q = q_;
  qd = qd_;
  return frame;
}

std::string MuscleProblem::coordinate_at_limit(const VectorX& secondary) const {
  const auto n_a = static_cast<Eigen::Index>(muscles_.size());
  for (Eigen::Index j = 0; const OptimizedCoordinate& coordinate : coordinates_) {
    if (!coordinate.secondary) continue;
    const double room = std::min(secondary[j] - lower_[n_a + j], upper_[n_a + j] - secondary[j]);
    if (room <= region_edge * coordinate.trust_radius) return coordinate.name;
    ++j;
  }
  return {};
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
    const auto m = static_cast<Eigen::Index>(order[i]);
    text +=
        fmt::format("{} {} with {:.3g} {} at full activation, activation {:.3f}", i == 0 ? "; strongest muscles:" : ",",
                    muscles_[order[i]].name, help(order[i]), unit, frame.activations[m]);
    if (upper_[m] < 1.0) text += fmt::format(" (at most {:.3f} by its activation dynamics)", upper_[m]);
  }
  return text;
}

}  // namespace heelstrike::mbs
