#include "mbs_server/integrators/arkode_erk.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "mbs_server/integrators/arkode_stepper.hpp"

namespace heelstrike::mbs {
namespace {

ARKODE_ERKTableID table_of(const IntegratorSpec& spec) {
  switch (spec.order.value_or(default_order)) {
    case 2:
      return ARKODE_HEUN_EULER_2_1_2;
    case 3:
      return ARKODE_BOGACKI_SHAMPINE_4_2_3;
    case 4:
      return ARKODE_ZONNEVELD_5_3_4;
    case 5:
      return ARKODE_DORMAND_PRINCE_7_4_5;
    case 6:
      return ARKODE_VERNER_8_5_6;
    case 8:
      return ARKODE_FEHLBERG_13_7_8;
    default:
      throw input_error("analysis.integrator.order",
                        fmt::format("analysis.integrator.order: expected 2, 3, 4, 5, 6 or 8 for {}, found {}",
                                    spec.name, *spec.order));
  }
}

struct TableDeleter {
  void operator()(ARKodeButcherTable table) const { ARKodeButcherTable_Free(table); }
};

class ArkodeErk final : public ArkodeStepper {
 public:
  ArkodeErk(const IntegratorSpec& spec, Problem& problem)
      : ArkodeStepper(spec, problem, false), table_(table_of(spec)) {
    if (spec.order.value_or(default_order) > hermite_order) formula_.reset(ARKodeButcherTable_LoadERK(table_));
  }

 private:
  /// Up to this order Hermite interpolation between the ends of a step is as accurate as the step.
  static constexpr int hermite_order = 5;

  void configure(void* arkode) override {
    check_setup(ARKStepSetTableNum(arkode, ARKODE_DIRK_NONE, table_), "ARKStepSetTableNum");
  }
  void dense_output(double t, const Node& from, const Node& to, Eigen::VectorXd& Y) override;

  ARKODE_ERKTableID table_;
  std::unique_ptr<std::remove_pointer_t<ARKodeButcherTable>, TableDeleter> formula_;  ///< of orders above hermite_order
  std::vector<Eigen::VectorXd> slopes_;
};

/// Orders 6 and 8 have no interpolant as accurate as their large steps: a shorter step of the same formula to `t` is
/// used.
void ArkodeErk::dense_output(double t, const Node& from, const Node& to, Eigen::VectorXd& Y) {
  if (!formula_) {
    ArkodeStepper::dense_output(t, from, to, Y);
    return;
  }
  const double h = t - from.t;
  const auto n_stages = static_cast<std::size_t>(formula_->stages);
  slopes_.resize(n_stages);
  // The first stage of the explicit table is the known derivative at the start of the step.
  slopes_[0] = from.F;
  for (std::size_t i = 1; i < n_stages; ++i) {
    Y = from.Y;
    for (std::size_t j = 0; j < i; ++j) Y += h * formula_->A[i][j] * slopes_[j];
    slopes_[i].resize(Y.size());
    evaluate(from.t + formula_->c[i] * h, Y, slopes_[i]);
  }
  count_evaluations(formula_->stages - 1);
  Y = from.Y;
  for (std::size_t i = 0; i < n_stages; ++i) Y += h * formula_->b[i] * slopes_[i];
}

}  // namespace

IntegratorEntry arkode_erk() {
  return integrator_entry(
      "arkode_erk", "explicit Runge-Kutta of order 2 to 8, index-1 form, projection onto the constraints",
      {order_key("order", {2, 3, 4, 5, 6, 8}, default_order)},
      [](const IntegratorSpec& spec, Problem& problem) { return std::make_unique<ArkodeErk>(spec, problem); });
}

}  // namespace heelstrike::mbs
