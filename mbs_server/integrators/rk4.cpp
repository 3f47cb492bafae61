#include "mbs_server/integrators/rk4.hpp"

#include "mbs_server/integrators/fixed_step.hpp"

namespace heelstrike::mbs {
namespace {

class Rk4 final : public FixedStepIntegrator {
 public:
  using FixedStepIntegrator::FixedStepIntegrator;

 private:
  void try_step(double h, const Node& from, Node& to) override { runge_kutta_step(h, from, to); }
};

}  // namespace

IntegratorEntry rk4() {
  IntegratorEntry entry = integrator_entry(
      "rk4", "Runge-Kutta of order 4 with fixed step, Baumgarte stabilisation", fixed_step_keys(),
      [](const IntegratorSpec& spec, Problem& problem) { return std::make_unique<Rk4>(spec, problem); });
  entry.fixed_step = true;
  return entry;
}

}  // namespace heelstrike::mbs
