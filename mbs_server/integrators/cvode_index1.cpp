/// CVODE on the index-1 form: BDF with the accelerations of the saddle-point system as right-hand side and a projection
/// of every step onto position and velocity constraints (Eich 1993; CVODE user guide, "projection").
#include <cvodes/cvodes.h>
#include <cvodes/cvodes_ls.h>
#include <cvodes/cvodes_proj.h>

#include "mbs_server/integrators/multistep.hpp"

namespace heelstrike::mbs {
namespace {

constexpr MultistepCalls cvode_calls = {
    .solver = SundialsSolver::cvode,
    .set_max_order = CVodeSetMaxOrd,
    .set_max_steps = CVodeSetMaxNumSteps,
    .set_max_error_failures = CVodeSetMaxErrTestFails,
    .set_max_newton_failures = CVodeSetMaxConvFails,
    .set_stop_time = CVodeSetStopTime,
    .set_max_step = CVodeSetMaxStep,
    .get_current_time = CVodeGetCurrentTime,
    .get_last_step = CVodeGetLastStep,
    .get_dense = CVodeGetDky,
    .get_quadratures = CVodeGetQuadDky,
    .get_steps = CVodeGetNumSteps,
    .get_evaluations = CVodeGetNumRhsEvals,
    .get_error_failures = CVodeGetNumErrTestFails,
    .get_newton_failures = CVodeGetNumNonlinSolvConvFails,
    .code_name = CVodeGetReturnFlagName,
};

class CvodeIndex1 final : public MultistepIntegrator {
 public:
  CvodeIndex1(const IntegratorSpec& spec, Problem& problem)
      : MultistepIntegrator(spec, problem, cvode_calls, problem.size(),
                            [&problem](Problem::MutableRef b) { problem.solve_newton(b); }),
        projected_(problem.size()) {}
  ~CvodeIndex1() override { CVodeFree(&cvode_); }
  CvodeIndex1(const CvodeIndex1&) = delete;
  CvodeIndex1& operator=(const CvodeIndex1&) = delete;

 private:
  static CvodeIndex1& self(void* user_data) { return *static_cast<CvodeIndex1*>(user_data); }
  static int rhs(sunrealtype t, N_Vector y, N_Vector yd, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code([&] { me.problem().rhs(t, view(y), view(yd)); }, me.cause());
  }
  static int quadrature(sunrealtype t, N_Vector y, N_Vector zd, void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code([&] { me.problem().quadrature_rhs(t, view(y), view(zd)); }, me.cause());
  }
  static int newton_system(sunrealtype t, N_Vector y, N_Vector /*fy*/, SUNMatrix /*A*/, sunbooleantype j_ok,
                           sunbooleantype* j_current, sunrealtype gamma, void* user_data, N_Vector, N_Vector,
                           N_Vector) {
    auto& me = self(user_data);
    return to_sundials_code(
        [&] {
          // CVODE keeps J over many steps and updates it when Newton's method converges slowly; gamma changes more
          // often and costs a factorisation, but no evaluation of the model.
          if (j_ok == SUNFALSE) me.problem().linearize(t, view(y));
          *j_current = j_ok == SUNFALSE ? SUNTRUE : SUNFALSE;
          me.problem().factor_newton(gamma);
        },
        me.cause());
  }
  static int project(sunrealtype t, N_Vector y, N_Vector correction, sunrealtype /*tolerance*/, N_Vector /*error*/,
                     void* user_data) {
    auto& me = self(user_data);
    return to_sundials_code(
        [&] {
          // CVODE adds the correction to the state, which must not be modified here.
          me.projected_ = view(y);
          me.problem().project(t, me.projected_);
          // [eich1993]: positions to Phi = 0, velocities to Phi_q qd = nu; internal states are unchanged.
          view(correction) = me.projected_ - view(y);
        },
        me.cause());
  }

  void create() override;
  void reinitialize() override {
    check_setup(CVodeReInit(cvode_, t(), state()), "CVodeReInit");
    if (problem().n_quadratures() > 0) check_setup(CVodeQuadReInit(cvode_, quadrature_state()), "CVodeQuadReInit");
  }
  int advance(double t_out, double& t) override { return CVode(cvode_, t_out, state(), &t, CV_ONE_STEP); }
  void add_statistics(IntegratorStatistics& statistics) const override {
    long jacobians = 0;
    (void)CVodeGetNumJacEvals(cvode_, &jacobians);
    statistics.jacobian_evaluations += jacobians;
  }

  void* cvode_ = nullptr;
  Eigen::VectorXd projected_;
};

void CvodeIndex1::create() {
  cvode_ = CVodeCreate(CV_BDF, context());
  if (cvode_ == nullptr) throw Error(ErrorCode::internal, "CVodeCreate failed");
  check_setup(CVodeInit(cvode_, rhs, t(), state()), "CVodeInit");
  check_setup(CVodeSetUserData(cvode_, this), "CVodeSetUserData");
  check_setup(CVodeSStolerances(cvode_, spec().rtol, spec().atol), "CVodeSStolerances");
  check_setup(CVodeSetLinearSolver(cvode_, solver(), matrix()), "CVodeSetLinearSolver");
  check_setup(CVodeSetLinSysFn(cvode_, newton_system), "CVodeSetLinSysFn");
  if (problem().n_roots() > 0) {
    // A contact that starts to stick has a stiffness of several magnitudes more within one step. With the Jacobian of
    // sliding, Newton's corrections are tiny and pass the test of convergence far from the solution: two of 1,000
    // sliders crept by 1.6 and 3.6 mm, with 4.6 % of the energy. A Jacobian per step costs fewer steps there.
    check_setup(CVodeSetLSetupFrequency(cvode_, 1), "CVodeSetLSetupFrequency");
    check_setup(CVodeSetJacEvalFrequency(cvode_, 1), "CVodeSetJacEvalFrequency");
  }
  check_setup(CVodeSetProjFn(cvode_, project), "CVodeSetProjFn");
  // The projection changes the latest state only; the part of the error that violates the constraints remains in the
  // history of the formula and becomes an error of the motion when the bodies rotate. Estimates without it gave nine
  // times larger errors on Andrews' mechanism, with a tenth fewer steps.
  check_setup(CVodeSetProjErrEst(cvode_, SUNFALSE), "CVodeSetProjErrEst");
  if (problem().n_quadratures() > 0) {
    check_setup(CVodeQuadInit(cvode_, quadrature, quadrature_state()), "CVodeQuadInit");
    check_setup(CVodeQuadSStolerances(cvode_, spec().rtol, quadrature_atol(spec())), "CVodeQuadSStolerances");
    // With error control: a load that is a polynomial of time moves a free body along a cubic, which BDF of order 5
    // integrates exactly with any step size, and the work of such a step would have an error of percents.
    check_setup(CVodeSetQuadErrCon(cvode_, SUNTRUE), "CVodeSetQuadErrCon");
  }
  configure(cvode_);
}

}  // namespace

IntegratorEntry cvode_index1() {
  return integrator_entry<CvodeIndex1>(
      "cvode_index1", "BDF of order 1 to 5, accelerations from the index-1 form, projection onto the constraints",
      {order_key("maximum order", {1, 2, 3, 4, 5}, default_order)});
}

}  // namespace heelstrike::mbs
