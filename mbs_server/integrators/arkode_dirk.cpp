#include "mbs_server/integrators/arkode_dirk.hpp"

#include <arkode/arkode_ls.h>
#include <fmt/format.h>

#include <utility>

#include "mbs_server/integrators/arkode_stepper.hpp"

namespace heelstrike::mbs {
namespace {

using Tables = std::pair<ARKODE_DIRKTableID, ARKODE_ERKTableID>;

/// Additive pairs of [kennedy2003] and [kennedy2019] with L-stable implicit parts: the implicit table integrates the
/// state, its explicit counterpart with the same stages integrates the quadratures.
Tables tables_of(const IntegratorSpec& spec) {
  switch (spec.order.value_or(default_order)) {
    case 3:
      return {ARKODE_ARK324L2SA_DIRK_4_2_3, ARKODE_ARK324L2SA_ERK_4_2_3};
    case 4:
      return {ARKODE_ARK437L2SA_DIRK_7_3_4, ARKODE_ARK437L2SA_ERK_7_3_4};
    case 5:
      return {ARKODE_ARK548L2SAb_DIRK_8_4_5, ARKODE_ARK548L2SAb_ERK_8_4_5};
    default:
      throw input_error(
          "analysis.integrator.order",
          fmt::format("analysis.integrator.order: expected 3, 4 or 5 for {}, found {}", spec.name, *spec.order));
  }
}

class ArkodeDirk final : public ArkodeStepper {
 public:
  ArkodeDirk(const IntegratorSpec& spec, Problem& problem)
      : ArkodeStepper(spec, problem, true),
        tables_(tables_of(spec)),
        // The quadratures have no implicit part: their Newton matrix is the identity.
        newton_context_{.solve = [&problem](Problem::MutableRef b) { problem.solve_newton(b.head(problem.size())); },
                        .cause = &cause()},
        matrix_(make_newton_matrix(context())),
        solver_(make_newton_solver(newton_context_, context())) {}

 private:
  static int newton_system(realtype t, N_Vector Y, N_Vector /*F*/, SUNMatrix /*A*/, SUNMatrix /*M*/, booleantype j_ok,
                           booleantype* j_current, realtype gamma, void* user_data, N_Vector, N_Vector, N_Vector) {
    auto& me = static_cast<ArkodeDirk&>(self(user_data));
    return to_sundials_code(
        [&] {
          // ARKODE keeps J while only gamma changes; refactorisation for a new gamma needs no evaluation of the model.
          if (j_ok == SUNFALSE) me.problem().linearize(t, view(Y).head(me.n_y()));
          *j_current = j_ok == SUNFALSE ? SUNTRUE : SUNFALSE;
          me.problem().factor_newton(gamma);
        },
        me.cause());
  }

  void configure(void* arkode) override {
    check_setup(ARKStepSetTableNum(arkode, tables_.first, tables_.second), "ARKStepSetTableNum");
    check_setup(ARKStepSetLinearSolver(arkode, solver_.get(), matrix_.get()), "ARKStepSetLinearSolver");
    check_setup(ARKStepSetLinSysFn(arkode, newton_system), "ARKStepSetLinSysFn");
    // Stage predictor from the last step, of lower order for later stages: a third of the trivial one's evaluations.
    constexpr int variable_order = 2;
    check_setup(ARKStepSetPredictorMethod(arkode, variable_order), "ARKStepSetPredictorMethod");
  }

  Tables tables_;
  NewtonSolverContext newton_context_;
  OwnedMatrix matrix_;
  OwnedLinearSolver solver_;
};

}  // namespace

IntegratorEntry arkode_dirk() {
  return integrator_entry(
      "arkode_dirk", "diagonally implicit Runge-Kutta of order 3 to 5, index-1 form, projection onto the constraints",
      {order_key("order", {3, 4, 5}, default_order)},
      [](const IntegratorSpec& spec, Problem& problem) { return std::make_unique<ArkodeDirk>(spec, problem); });
}

}  // namespace heelstrike::mbs
