#include "fem_server/backends/fem_modal/modal_oscillator.hpp"

#include <cmath>

namespace heelstrike::fem {

namespace {

/// Below this step the integrals are summed as series: their closed forms are differences of nearly equal numbers.
constexpr double series_step_limit = 0.1;
/// (series_step_limit)^14 / 14! is far below rounding.
constexpr int n_terms = 14;

}  // namespace

ModeStep::ModeStep(double omega, double zeta, double h) : omega2_(omega * omega), zeta_omega_(zeta * omega), h_(h) {
  if (h == 0.0) return;
  if (omega * h < series_step_limit) {
    // S = sum a_n h^n with S'' + 2 zeta omega S' + omega^2 S = 0, S(0) = 0, S'(0) = 1; `term` is a_n h^n.
    double before = 0.0;
    double term = h;
    rate_ = 0.0;
    for (int n = 1; n <= n_terms; ++n) {
      s_ += term;
      rate_ += n * term / h;
      s1_ += term * h / (n + 1);
      compliance_ += term * h / ((n + 1) * (n + 2));
      const double next = -(2.0 * zeta_omega_ * h * n * term + omega2_ * h * h * before) / ((n + 1) * n);
      before = term;
      term = next;
    }
  } else {
    const double damped = omega * std::sqrt(1.0 - zeta * zeta);
    const double decay = std::exp(-zeta_omega_ * h);
    s_ = decay * std::sin(damped * h) / damped;
    rate_ = decay * std::cos(damped * h) - zeta_omega_ * s_;
    s1_ = (1.0 - rate_ - 2.0 * zeta_omega_ * s_) / omega2_;
    compliance_ = (h - s_ - 2.0 * zeta_omega_ * s1_) / (omega2_ * h);
  }
  s1_rate_ = s1_ / h;
}

double ModeStep::released(const ModeState& before) const {
  return (1.0 - omega2_ * s1_) * before.q + s_ * before.v + (s1_ - compliance_) * before.g;
}

ModeState ModeStep::after(const ModeState& before, double g1) const {
  return {.q = released(before) + compliance_ * g1,
          .v = -omega2_ * s_ * before.q + rate_ * before.v + (s_ - s1_rate_) * before.g + s1_rate_ * g1,
          .g = g1};
}

double ModeStep::energy(const ModeState& state) const {
  return 0.5 * (state.v * state.v + omega2_ * state.q * state.q);
}

double ModeStep::dissipated(const ModeState& before, const ModeState& end) const {
  if (zeta_omega_ == 0.0 || h_ == 0.0) return 0.0;
  // Work of a linear force: [g q] - (g1 - g0) times the mean of q, which follows from the integrated equation of
  // motion.
  const double change = (end.v - before.v + 2.0 * zeta_omega_ * (end.q - before.q)) / h_;
  const double mean = (0.5 * (before.g + end.g) - change) / omega2_;
  const double work = end.g * end.q - before.g * before.q - (end.g - before.g) * mean;
  return energy(before) + work - energy(end);
}

}  // namespace heelstrike::fem
