/// The fixed-step methods, for comparison with the literature, and their common base: the grid of steps, Baumgarte's
/// stabilisation instead of a projection, and the repetition of rejected steps.
///
/// Every restart begins a new grid: t_k = t_0 + k h. The last step is shortened to end at the end of the run. A step
/// that the model rejects is bisected up to max_rejections times; the nominal size is restored after the end of the
/// rejected step.
///
/// The error of a step is estimated, but not controlled: from the fourth step of a grid on, its increment is compared
/// with the Adams-Moulton quadrature of order 5 over the derivatives at its ends and three steps back, whose error is
/// of order h^6, one order higher than that of the methods. The estimate needs no evaluation.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mbs_server/integrators/one_step.hpp"
#include "mbs_server/integrators/sundials_support.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

class FixedStepIntegrator : public OneStepIntegrator {
 public:
  /// @param spec  `step` is required
  FixedStepIntegrator(const IntegratorSpec& spec, Problem& problem);

  [[nodiscard]] IntegratorStatistics statistics() const final {
    IntegratorStatistics s = totals_;
    s.restarts = n_restarts();
    return s;
  }

 protected:
  /// Fills to.Y at from.t + h; from.F is valid.
  virtual void try_step(double h, const Node& from, Node& to) = 0;
  /// F = {f with stabilisation, integrands} at (t, Y).
  void evaluate(double t, const Eigen::VectorXd& Y, Eigen::VectorXd& F);
  /// The classical Runge-Kutta step of order 4 ([machado2012] eqs 3.46-3.51).
  void runge_kutta_step(double h, const Node& from, Node& to);

  static constexpr std::size_t history_length = 3;
  /// F one, two, three steps of the current size before the current state; valid when history_is_full().
  [[nodiscard]] const std::array<Eigen::VectorXd, history_length>& history() const { return past_; }
  [[nodiscard]] bool history_is_full() const { return n_past_ == history_length; }

 private:
  void begin(const Node& start) final {
    reduced_ = false;
    stall_.reset();
    max_speed_ = max_state_ = 0.0;
    change_size(std::min(*spec().step, max_step()), start.t);
  }
  void max_step_changed() final {
    const double h = std::min(*spec().step, max_step());
    if (!reduced_ && h != size_) change_size(h, grid_start_ + static_cast<double>(count_) * size_);
  }
  void advance(double t_end, Node& from, Node& to) final;
  void change_size(double h, double t) {
    size_ = h;
    grid_start_ = t;
    count_ = 0;
    n_past_ = 0;
  }
  void estimate_error(const Node& from, const Node& to);
  void update_history(const Node& from) {
    past_[2].swap(past_[1]);
    past_[1].swap(past_[0]);
    past_[0] = from.F;
    n_past_ = std::min(n_past_ + 1, history_length);
  }
  [[nodiscard]] double step_error() const final { return step_error_; }

  double alpha_, beta_;
  double size_ = 0.0;        ///< [s] current step
  double grid_start_ = 0.0;  ///< [s] start of the grid of this step size
  double repeat_end_ = 0.0;  ///< [s] end of the rejected step, while size_ is reduced
  bool reduced_ = false;
  std::int64_t count_ = 0;
  Eigen::VectorXd stage_, f2_, f3_, f4_;
  std::array<Eigen::VectorXd, history_length> past_;
  std::size_t n_past_ = 0;
  double step_error_ = 0.0;
  double max_speed_ = 0.0;  ///< maximum |qd| since the restart, the scale of errors of qd
  double max_state_ = 0.0;  ///< likewise for first-order states
  StallGuard stall_;
  IntegratorStatistics totals_;
};

FixedStepIntegrator::FixedStepIntegrator(const IntegratorSpec& spec, Problem& problem)
    : OneStepIntegrator(spec, problem, false), alpha_(spec.baumgarte_alpha), beta_(spec.baumgarte_beta) {
  if (!spec.step) {
    throw input_error("analysis.integrator.step",
                      fmt::format("analysis.integrator.step: expected the fixed step of {} [s], found none; add "
                                  "e.g. step: 1e-4",
                                  spec.name));
  }
  totals_.name = spec.name;
}

void FixedStepIntegrator::evaluate(double t, const Eigen::VectorXd& Y, Eigen::VectorXd& F) {
  ++totals_.rhs_evaluations;
  F.resize(Y.size());
  problem().stabilized_rhs(t, Y.head(n_y()), alpha_, beta_, F.head(n_y()));
  if (n_z() > 0) problem().quadrature_rhs(t, Y.head(n_y()), F.tail(n_z()));
}

void FixedStepIntegrator::runge_kutta_step(double h, const Node& from, Node& to) {
  stage_ = from.Y + 0.5 * h * from.F;
  evaluate(from.t + 0.5 * h, stage_, f2_);
  stage_ = from.Y + 0.5 * h * f2_;
  evaluate(from.t + 0.5 * h, stage_, f3_);
  stage_ = from.Y + h * f3_;
  evaluate(from.t + h, stage_, f4_);
  // [machado2012] eqs 3.46-3.51; the first slope is the derivative from the preceding step.
  to.Y = from.Y + h / 6.0 * (from.F + 2.0 * f2_ + 2.0 * f3_ + f4_);
}

void FixedStepIntegrator::estimate_error(const Node& from, const Node& to) {
  step_error_ = 0.0;
  const int n = problem().n_positions();
  // Relative to the maximum speed so far, not to the current one: at a reversal of a pendulum the relative error would
  // be large.
  max_speed_ = std::max(max_speed_, to.Y.segment(n, n).lpNorm<Eigen::Infinity>());
  const auto states = to.Y.segment(2 * n, n_y() - 2 * n);
  max_state_ = std::max(max_state_, states.size() == 0 ? 0.0 : states.lpNorm<Eigen::Infinity>());
  if (!history_is_full() || !(max_speed_ > 0.0)) return;
  const double h = to.t - from.t;
  const auto& [f1, f2, f3] = past_;
  // Adams-Moulton over five equidistant derivatives: its error is of order h^6, that of the step of order h^5, so that
  // the difference is the error of the step.
  stage_ = to.Y - from.Y - h / 720.0 * (251.0 * to.F + 646.0 * from.F - 264.0 * f1 + 106.0 * f2 - 19.0 * f3);
  // Axes of bodies are unit vectors, so that the largest coordinate is never small.
  step_error_ = std::max(stage_.head(n).lpNorm<Eigen::Infinity>() / to.Y.head(n).lpNorm<Eigen::Infinity>(),
                         stage_.segment(n, n).lpNorm<Eigen::Infinity>() / max_speed_);
  if (!(max_state_ > 0.0)) return;
  step_error_ = std::max(step_error_, stage_.segment(2 * n, states.size()).lpNorm<Eigen::Infinity>() / max_state_);
}

void FixedStepIntegrator::advance(double t_end, Node& from, Node& to) {
  if (reduced_ && from.t >= repeat_end_) {
    reduced_ = false;
    change_size(std::min(*spec().step, max_step()), from.t);
  }
  std::exception_ptr cause;
  for (int attempt = 0; attempt <= spec().max_rejections; ++attempt) {
    // A product, not a sum, which after a million steps would have accumulated a million rounding errors.
    double t_next = grid_start_ + static_cast<double>(count_ + 1) * size_;
    // A remainder below a millionth of a step is added to the step.
    const bool last = t_next > t_end - 1e-6 * size_;
    if (last) t_next = t_end;
    set_attempted_time(t_next);
    const int code = to_sundials_code(
        [&] {
          if (first_after_restart()) evaluate(from.t, from.Y, from.F);
          // The Adams formulas assume equidistant steps: a shortened step is a Runge-Kutta step and ends the grid.
          if (last) n_past_ = 0;
          try_step(t_next - from.t, from, to);
          to.t = t_next;
          evaluate(t_next, to.Y, to.F);
        },
        cause);
    if (code == 0) {
      ++totals_.steps;
      ++count_;
      estimate_error(from, to);
      if (!last) update_history(from);
      // The last step of the run may be tiny.
      if (!last) stall_.check(to.t - from.t, to.t, cause, totals_.name);
      return;
    }
    if (code < 0) std::rethrow_exception(cause);
    ++totals_.rejected_steps;
    if (!reduced_) repeat_end_ = t_next;
    reduced_ = true;
    change_size(0.5 * (t_next - from.t), from.t);
  }
  throw_solver_failure(
      cause, totals_.name,
      fmt::format("{} consecutive steps rejected, the last of {:g} s", spec().max_rejections + 1, size_),
      attempted_time());
}

/// The classical Runge-Kutta method of order 4 ([machado2012] eqs 3.46-3.51 and 3.38).
class Rk4 final : public FixedStepIntegrator {
 public:
  using FixedStepIntegrator::FixedStepIntegrator;

 private:
  void try_step(double h, const Node& from, Node& to) override { runge_kutta_step(h, from, to); }
};

/// Adams-Bashforth predictor and Adams-Moulton corrector of order 4 (predict, evaluate, correct, evaluate),
/// [machado2012] eqs 3.52, 3.55 and 3.38. The first three steps after a restart or a change of the step are Runge-Kutta
/// steps of order 4.
class Ab4Am4 final : public FixedStepIntegrator {
 public:
  using FixedStepIntegrator::FixedStepIntegrator;

 private:
  void try_step(double h, const Node& from, Node& to) override {
    if (!history_is_full()) {
      runge_kutta_step(h, from, to);
      return;
    }
    // Predict (Adams-Bashforth, order 4), evaluate, correct (Adams-Moulton, order 4); the last evaluation is at the
    // accepted state. The formulas need four equidistant derivatives, so that every new grid starts with Runge-Kutta
    // steps of the same order.
    const auto& [f1, f2, f3] = history();
    predicted_ = from.Y + h / 24.0 * (55.0 * from.F - 59.0 * f1 + 37.0 * f2 - 9.0 * f3);
    evaluate(from.t + h, predicted_, f_predicted_);
    to.Y = from.Y + h / 24.0 * (9.0 * f_predicted_ + 19.0 * from.F - 5.0 * f1 + f2);
  }

  Eigen::VectorXd predicted_, f_predicted_;
};

template <typename Method>
IntegratorEntry fixed_step_entry(const char* name, const char* meaning) {
  const IntegratorSpec defaults;
  const auto baumgarte = [](const char* key, const char* use, double fallback) {
    return config::number(key, "1/s", config::rates, use, fallback);
  };
  IntegratorEntry entry = integrator_entry<Method>(
      name, meaning,
      {order_key("order", {4}, 4), config::required(config::number("step", "s", config::times, "step size")),
       baumgarte("baumgarte_alpha", "damping of constraint violations", defaults.baumgarte_alpha),
       baumgarte("baumgarte_beta", "stiffness of constraint violations", defaults.baumgarte_beta)});
  entry.fixed_step = true;
  return entry;
}

}  // namespace

IntegratorEntry rk4() {
  return fixed_step_entry<Rk4>("rk4", "Runge-Kutta of order 4 with fixed step, Baumgarte stabilisation");
}

IntegratorEntry ab4am4() {
  return fixed_step_entry<Ab4Am4>("ab4am4",
                                  "Adams-Bashforth-Moulton of order 4 with fixed step, Baumgarte stabilisation");
}

}  // namespace heelstrike::mbs
