/// Common base of the two BDF methods of SUNDIALS: settings, restarts, one accepted step at a time, roots (by
/// StepRoots), dense output, quadratures, statistics and failures. MultistepCalls lists the corresponding functions of
/// CVODE and IDA.
#pragma once

#include <vector>

#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/integrators/step_roots.hpp"
#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {

/// Functions of CVODE or IDA; the first argument is the solver's memory.
struct MultistepCalls {
  SundialsSolver solver;
  int (*set_max_order)(void*, int);
  int (*set_max_steps)(void*, long);
  int (*set_max_error_failures)(void*, int);
  int (*set_max_newton_failures)(void*, int);
  int (*set_stop_time)(void*, sunrealtype);
  int (*set_max_step)(void*, sunrealtype);
  int (*get_current_time)(void*, sunrealtype*);
  int (*get_last_step)(void*, sunrealtype*);
  int (*get_dense)(void*, sunrealtype, int, N_Vector);
  int (*get_quadratures)(void*, sunrealtype, int, N_Vector);
  int (*get_steps)(void*, long*);
  int (*get_evaluations)(void*, long*);
  int (*get_error_failures)(void*, long*);
  int (*get_newton_failures)(void*, long*);
  char* (*code_name)(long);
};

class MultistepIntegrator : public Integrator {
 public:
  MultistepIntegrator(const MultistepIntegrator&) = delete;
  MultistepIntegrator& operator=(const MultistepIntegrator&) = delete;

  void restart(double t, const Eigen::VectorXd& y, const Eigen::VectorXd& z, std::optional<double> max_step,
               std::span<const int> directions) final;
  void set_max_step(std::optional<double> max_step) final;
  StepResult step(double t_end) final;
  [[nodiscard]] double attempted_time() const final { return attempted_time_; }
  [[nodiscard]] const Eigen::VectorXd& y() const final { return y_; }
  [[nodiscard]] const Eigen::VectorXd& quadratures() const final { return z_; }
  void interpolate(double t, Eigen::VectorXd& y, Eigen::VectorXd& z) final;
  [[nodiscard]] IntegratorStatistics statistics() const final;

 protected:
  /// @param n_state  entries of the solver's state, which begins with y
  MultistepIntegrator(const IntegratorSpec& spec, Problem& problem, const MultistepCalls& calls, int n_state,
                      std::function<void(Eigen::Ref<Eigen::VectorXd>)> solve_newton);

  /// Creates or reinitialises the solver at t() with the states set.
  virtual void create() = 0;
  virtual void reinitialize() = 0;
  /// One step in one-step mode towards `t_out`. @returns the solver's code
  virtual int advance(double t_out, double& t) = 0;
  /// Sets the entries of the solver's state besides y; may throw as the problem does.
  virtual void make_consistent() {}
  /// Post-processing of y after an accepted step.
  virtual void finish_step(double /*t*/, Eigen::VectorXd& /*y*/) {}
  virtual void add_statistics(IntegratorStatistics& statistics) const = 0;

  /// Settings that do not depend on the solver; called by create().
  void configure(void* memory);

  [[nodiscard]] Problem& problem() { return problem_; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const IntegratorSpec& spec() const { return spec_; }
  [[nodiscard]] SUNContext context() const { return context_.get(); }
  [[nodiscard]] void* memory() const { return memory_; }
  [[nodiscard]] N_Vector state() const { return state_.get(); }
  [[nodiscard]] N_Vector quadrature_state() const { return quadrature_state_.get(); }
  [[nodiscard]] SUNMatrix matrix() const { return matrix_.get(); }
  [[nodiscard]] SUNLinearSolver solver() const { return solver_.get(); }
  [[nodiscard]] std::exception_ptr& cause() { return cause_; }
  [[nodiscard]] double t() const { return t_; }
  [[nodiscard]] int n_y() const { return n_y_; }

 private:
  void start();
  void apply_max_step();
  void advance_solver(double t_end);
  [[noreturn]] void fail(int code);

  IntegratorSpec spec_;
  Problem& problem_;
  const MultistepCalls& calls_;
  int n_y_;
  std::exception_ptr cause_;
  StepRoots roots_;
  StallGuard stall_;
  NewtonSolverContext newton_context_;
  Context context_;
  OwnedVector state_, quadrature_state_, dense_;
  OwnedMatrix matrix_;
  OwnedLinearSolver solver_;
  void* memory_ = nullptr;  ///< owned by the derived class
  Eigen::VectorXd y_, z_;
  std::optional<double> max_step_;
  bool fresh_ = false;      ///< restarted, but the solver is not yet reinitialised
  double t_ = 0.0;          ///< [s] end of the solver's last step
  double step_size_ = 0.0;  ///< [s] of the solver's last step
  double attempted_time_ = 0.0;
  IntegratorStatistics totals_;  ///< of all runs before the last restart
};

}  // namespace heelstrike::mbs
