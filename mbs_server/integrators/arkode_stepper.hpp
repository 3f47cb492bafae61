/// Common base of the two ARKODE methods ([reynolds2023] in docs/references.bib): the state {y, z} with the
/// quadratures appended, the projection of every accepted step, and statistics.
///
/// ARKODE fails immediately on a recoverable error of an explicit stage or of the projection; the step is then repeated
/// here from its start with a quarter of its size, up to max_rejections times.
///
/// The quadratures do not affect the state, but the error test includes them with a separate tolerance
/// (quadrature_atol), as for CVODE and IDA.
#pragma once

#include <arkode/arkode_arkstep.h>

#include "mbs_server/integrators/one_step.hpp"
#include "mbs_server/integrators/sundials_support.hpp"

namespace heelstrike::mbs {

class ArkodeStepper : public OneStepIntegrator {
 public:
  ArkodeStepper(const IntegratorSpec& spec, Problem& problem, bool implicit);
  ~ArkodeStepper() override { ARKStepFree(&arkode_); }
  ArkodeStepper(const ArkodeStepper&) = delete;
  ArkodeStepper& operator=(const ArkodeStepper&) = delete;

  [[nodiscard]] IntegratorStatistics statistics() const final;

 protected:
  /// Sets tables and solvers of a new ARKODE instance.
  virtual void configure(void* arkode) = 0;
  /// F = {f, integrands} at (t, Y).
  void evaluate(double t, Eigen::Ref<const Eigen::VectorXd> Y, Eigen::Ref<Eigen::VectorXd> F);
  void count_evaluations(std::int64_t n) { totals_.rhs_evaluations += n; }
  [[nodiscard]] std::exception_ptr& cause() { return cause_; }
  [[nodiscard]] SUNContext context() const { return context_.get(); }
  [[nodiscard]] static ArkodeStepper& self(void* user_data) { return *static_cast<ArkodeStepper*>(user_data); }

 private:
  static int full_rhs(realtype t, N_Vector Y, N_Vector F, void* user_data);
  static int motion_rhs(realtype t, N_Vector Y, N_Vector F, void* user_data);
  static int quadrature_rhs(realtype t, N_Vector Y, N_Vector F, void* user_data);
  static int project(realtype t, N_Vector Y, void* user_data);
  static int weights(N_Vector Y, N_Vector w, void* user_data);

  void begin(const Node& start) final;
  void max_step_changed() final;
  void advance(double t_end, Node& from, Node& to) final;
  void create(double t);
  void reinitialize(const Node& start);
  [[nodiscard]] bool can_repeat_step(int code) const;
  void apply_max_step();
  [[noreturn]] void fail(int code, double t);
  void add_current(IntegratorStatistics& s) const;

  bool implicit_;
  /// Writes the derivative [1/s of the state] at an end of the last step to `derivative_`.
  void get_derivative(double t);

  std::exception_ptr cause_;
  StallGuard stall_;
  Context context_;
  OwnedVector state_, derivative_;
  void* arkode_ = nullptr;
  double max_repeated_step_;  ///< [s] bound while a rejected step is repeated; otherwise infinite
  double repeat_end_ = 0.0;   ///< [s] end of the rejected step
  std::int64_t n_rejected_ = 0;
  IntegratorStatistics totals_;  ///< of all runs before the last restart
};

}  // namespace heelstrike::mbs
