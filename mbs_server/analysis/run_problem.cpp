#include "mbs_server/analysis/run_problem.hpp"

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

RunProblem::RunProblem(System& system, ContactCoupling& coupling)
    : system_(system), coupling_(coupling), ggl_(system) {}

void RunProblem::rhs(double t, const ConstRef& y, MutableRef yd) {
  system_.solve_accelerations(t, q_of(y), qd_of(y));
  yd << qd_of(y), system_.qdd();
}

void RunProblem::stabilized_rhs(double t, const ConstRef& y, double alpha, double beta, MutableRef yd) {
  system_.solve_accelerations(t, q_of(y), qd_of(y), {.alpha = alpha, .beta = beta});
  yd << qd_of(y), system_.qdd();
}

void RunProblem::quadrature_rhs(double t, const ConstRef& y, MutableRef integrands) {
  const EnergyTerms energy = system_.evaluate_energy(t, q_of(y), qd_of(y));
  integrands[dissipated] = energy.dissipated_power;
  integrands[external_work] = energy.external_power;
}

void RunProblem::project(double t, MutableRef y) {
  const auto n = system_.n_q();
  system_.project(t, y.head(n), y.tail(n));
}

void RunProblem::linearize(double t, const ConstRef& y) {
  system_.linearize(t, q_of(y), qd_of(y));
}
void RunProblem::factor_newton(double gamma) {
  system_.factor_newton(gamma);
}
void RunProblem::solve_newton(MutableRef b) {
  const auto n = system_.n_q();
  system_.solve_newton(b.head(n), b.tail(n));
}

void RunProblem::multipliers(double t, const ConstRef& y, MutableRef lambda) {
  system_.solve_accelerations(t, q_of(y), qd_of(y));
  lambda = system_.lambda();
}

void RunProblem::index2_residual(double t, const ConstRef& x, const ConstRef& xd, MutableRef r) {
  ggl_.residual(t, x, xd, r);
}
void RunProblem::factor_index2(double t, const ConstRef& x, double c) {
  ggl_.factor(t, x, c);
}
void RunProblem::solve_index2(MutableRef b) {
  ggl_.solve(b);
}

void RunProblem::forget_pivots() {
  system_.forget_pivots();
  ggl_.forget_pivots();
}

void RunProblem::roots(double t, const ConstRef& y, MutableRef values) {
  if (coupling_.n_pairs() == 0) return;
  const auto responses = coupling_.responses(t, q_of(y), qd_of(y));
  for (std::size_t i = 0; i < responses.size(); ++i) {
    values[static_cast<Eigen::Index>(2 * i)] = responses[i].gap;
    values[static_cast<Eigen::Index>(2 * i + 1)] = coupling_.closed(i) ? 1.0 : responses[i].gap_rate;
  }
}

std::vector<int> RunProblem::root_directions() const {
  std::vector<int> directions;
  for (std::size_t i = 0; i < coupling_.n_pairs(); ++i) {
    directions.push_back(coupling_.closed(i) ? +1 : -1);
    directions.push_back(+1);
  }
  return directions;
}

}  // namespace heelstrike::mbs
