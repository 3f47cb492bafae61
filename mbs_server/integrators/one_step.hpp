/// Common base of methods that return one finished step at a time: dense output between its ends, and location of roots
/// on it.
///
/// Dense output: with y = {q, qd} both ends give q, qd and qdd, hence q by the quintic Hermite polynomial (error O(h^6)
/// beyond that of the method) and qd by its derivative (O(h^5)); quadratures by the cubic one. It needs no evaluation
/// of the problem. Methods of higher order override it. States at roots are projected if the method projects its steps.
///
/// Roots are located on it by StepRoots.
#pragma once

#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/integrators/step_roots.hpp"

namespace heelstrike::mbs {

class OneStepIntegrator : public Integrator {
 public:
  OneStepIntegrator(const IntegratorSpec& spec, Problem& problem, bool projects);

  void restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
               std::span<const int> directions) final;
  void set_max_step(std::optional<double> max_step) final;
  StepResult step(double t_end) final;
  [[nodiscard]] double attempted_time() const final { return attempted_time_; }
  [[nodiscard]] const Eigen::VectorXd& y() const final { return y_; }
  [[nodiscard]] const Eigen::VectorXd& quadratures() const final { return z_; }
  void interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) final;

 protected:
  /// State and quadratures {y, z} at one time, and their derivatives.
  struct Node {
    double t = 0.0;
    Eigen::VectorXd Y, F;
  };

  /// A restart at `start`, whose F is not valid. Discards the history.
  virtual void begin(const Node& start) = 0;
  /// The bound of the step size has changed.
  virtual void max_step_changed() = 0;
  /// One accepted step from `from` (whose F may be set if it is the first after begin()) to `to`, with F.
  virtual void advance(double t_end, Node& from, Node& to) = 0;
  /// [-] estimated error of the last step relative to the magnitude of the motion; 0 with error control.
  [[nodiscard]] virtual double step_error() const { return 0.0; }
  /// Y at `t` inside the step from `from` to `to`.
  virtual void dense_output(double t, const Node& from, const Node& to, Eigen::VectorXd& Y);

  /// [s] infinite = no bound.
  [[nodiscard]] double max_step() const;
  [[nodiscard]] const IntegratorSpec& spec() const { return spec_; }
  [[nodiscard]] Problem& problem() { return problem_; }
  [[nodiscard]] int n_y() const { return n_y_; }
  [[nodiscard]] int n_z() const { return n_z_; }
  [[nodiscard]] bool first_after_restart() const { return first_; }
  void set_attempted_time(double t) { attempted_time_ = t; }
  [[nodiscard]] std::int64_t n_restarts() const { return n_restarts_; }

 private:
  void advance_solver(double t_end);
  void dense_state(double t, Eigen::VectorXd& y, Eigen::VectorXd& z);
  /// Dense output, projected if the method projects its steps.
  void state_at(double t, Eigen::VectorXd& y, Eigen::VectorXd& z);

  IntegratorSpec spec_;
  Problem& problem_;
  bool projects_;
  int n_y_, n_z_;
  StepRoots roots_;
  std::optional<double> max_step_;
  Node from_, to_;
  bool first_ = false;  ///< no step since the restart
  double attempted_time_ = 0.0;
  Eigen::VectorXd y_, z_, dense_;
  std::int64_t n_restarts_ = -1;
};

}  // namespace heelstrike::mbs
