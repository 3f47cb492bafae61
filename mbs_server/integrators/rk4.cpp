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

std::unique_ptr<Integrator> make_rk4(const IntegratorSpec& spec, Problem& problem) {
  return std::make_unique<Rk4>(spec, problem);
}

}  // namespace heelstrike::mbs
