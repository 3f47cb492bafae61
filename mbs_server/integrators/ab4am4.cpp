#include "mbs_server/integrators/ab4am4.hpp"

#include <array>

#include "mbs_server/integrators/fixed_step.hpp"

namespace heelstrike::mbs {
namespace {

class Ab4Am4 final : public FixedStepIntegrator {
 public:
  using FixedStepIntegrator::FixedStepIntegrator;

 private:
  static constexpr std::size_t history_length = 3;

  void try_step(double h, const Node& from, Node& to) override {
    if (n_known_ < history_length) {
      runge_kutta_step(h, from, to);
      return;
    }
    const auto& [f1, f2, f3] = past_;
    predicted_ = from.Y + h / 24.0 * (55.0 * from.F - 59.0 * f1 + 37.0 * f2 - 9.0 * f3);
    evaluate(from.t + h, predicted_, f_predicted_);
    to.Y = from.Y + h / 24.0 * (9.0 * f_predicted_ + 19.0 * from.F - 5.0 * f1 + f2);
  }

  void accepted(const Node& from, bool regular) override {
    if (!regular) return;
    past_[2].swap(past_[1]);
    past_[1].swap(past_[0]);
    past_[0] = from.F;
    n_known_ = std::min(n_known_ + 1, history_length);
  }

  void forget_history() override { n_known_ = 0; }

  std::array<Eigen::VectorXd, history_length> past_;  ///< F one, two, three steps before the current state
  std::size_t n_known_ = 0;
  Eigen::VectorXd predicted_, f_predicted_;
};

}  // namespace

std::unique_ptr<Integrator> make_ab4am4(const IntegratorSpec& spec, Problem& problem) {
  return std::make_unique<Ab4Am4>(spec, problem);
}

}  // namespace heelstrike::mbs
