#include "mbs_server/integrators/ab4am4.hpp"

#include "mbs_server/integrators/fixed_step.hpp"

namespace heelstrike::mbs {
namespace {

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

}  // namespace

IntegratorEntry ab4am4() {
  IntegratorEntry entry = integrator_entry(
      "ab4am4", "Adams-Bashforth-Moulton of order 4 with fixed step, Baumgarte stabilisation", fixed_step_keys(),
      [](const IntegratorSpec& spec, Problem& problem) { return std::make_unique<Ab4Am4>(spec, problem); });
  entry.fixed_step = true;
  return entry;
}

}  // namespace heelstrike::mbs
