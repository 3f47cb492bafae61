/// Common base of the fixed-step methods: the grid of steps, Baumgarte's stabilisation instead of a projection, and the
/// repetition of rejected steps.
///
/// Every restart begins a new grid: t_k = t_0 + k h. The last step is shortened to end at the end of the run. A step
/// that the model rejects is bisected up to max_rejections times; the nominal size is restored after the end of the
/// rejected step.
///
/// The error of a step is estimated, but not controlled: from the fourth step of a grid on, its increment is compared
/// with the Adams-Moulton quadrature of order 5 over the derivatives at its ends and three steps back, whose error is
/// of order h^6, one order higher than that of the methods. The estimate needs no evaluation.
#pragma once

#include <array>

#include "mbs_server/integrators/one_step.hpp"
#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {

/// Keys of the scenario common to these methods.
[[nodiscard]] std::vector<config::KeySchema> fixed_step_keys();

class FixedStepIntegrator : public OneStepIntegrator {
 public:
  /// @param spec  `step` is required
  FixedStepIntegrator(const IntegratorSpec& spec, Problem& problem);

  [[nodiscard]] IntegratorStatistics statistics() const final;

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
  void begin(const Node& start) final;
  void max_step_changed() final;
  void advance(double t_end, Node& from, Node& to) final;
  void change_size(double h, double t);
  void estimate_error(const Node& from, const Node& to);
  void update_history(const Node& from);
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

}  // namespace heelstrike::mbs
