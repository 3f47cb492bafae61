#include "fem_server/fem/prony_series.hpp"

#include <cmath>
#include <limits>

namespace heelstrike::fem {

namespace {

Matrix3 tensor(std::span<const double> values, std::size_t i) {
  if (values.empty()) return Matrix3::Zero();
  const auto v = values.subspan(6 * i, 6);
  Matrix3 T;
  T << v[0], v[3], v[5], v[3], v[1], v[4], v[5], v[4], v[2];
  return T;
}

void write(const Matrix3& T, std::span<double> values, std::size_t i) {
  if (values.empty()) return;
  const auto v = values.subspan(6 * i, 6);
  v[0] = T(0, 0), v[1] = T(1, 1), v[2] = T(2, 2), v[3] = T(0, 1), v[4] = T(1, 2), v[5] = T(2, 0);
}

/// (1 - exp(-x)) / x.
double mean_decay(double x) {
  return x > 0.0 ? -std::expm1(-x) / x : 1.0;
}

/// Integral over a step of H : H, in units of tau: H goes from `before` towards g dS/dt tau.
double squared_overstress(const Matrix3& before, const Matrix3& growth, double x) {
  if (!(x > 0.0)) return 0.0;
  // Of short steps the closed form is a difference of large numbers, and Simpson's rule is good to x^4.
  if (x < 0.02) {
    const auto at = [&](double s) -> Matrix3 { return std::exp(-s) * before + s / x * mean_decay(s) * growth; };
    return x / 6.0 * (before.squaredNorm() + 4.0 * at(0.5 * x).squaredNorm() + at(x).squaredNorm());
  }
  const Matrix3 limit = growth / x;
  const Matrix3 decaying = before - limit;
  return limit.squaredNorm() * x - 2.0 * limit.cwiseProduct(decaying).sum() * std::expm1(-x) -
         0.5 * decaying.squaredNorm() * std::expm1(-2.0 * x);
}

}  // namespace

PronySeries::Step PronySeries::step(const PointMemory& memory) const {
  Step step;
  const Matrix3 S_before = tensor(memory.values, 0);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double x = memory.dt / times_[i];
    const double rising = shares_[i] * mean_decay(x);
    step.factor += rising - shares_[i];
    step.offset += std::exp(-x) * tensor(memory.values, i + 1) - rising * S_before;
  }
  return step;
}

PronySeries::Energies PronySeries::advance(const PointMemory& memory, const Matrix3& S, double mu, double energy,
                                           std::span<double> after) const {
  Energies energies;
  const Matrix3 change = S - tensor(memory.values, 0);
  write(S, after, 0);
  // For small strain it is mu but for the strain itself, while the energy loses digits with the square of the strain.
  const double small = std::cbrt(std::numeric_limits<double>::epsilon());
  const double strain = S.norm() / (2.0 * mu);
  const double secant = strain > small ? mu * strain * strain / energy : 1.0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double x = memory.dt / times_[i];
    const Matrix3 before = tensor(memory.values, i + 1);
    const Matrix3 H = std::exp(-x) * before + shares_[i] * mean_decay(x) * change;
    energies.elastic_share -= shares_[i];
    energies.stored += H.squaredNorm() / (4.0 * secant * mu * shares_[i]);
    energies.dissipated += squared_overstress(before, shares_[i] * change, x) / (2.0 * secant * mu * shares_[i]);
    write(H, after, i + 1);
  }
  return energies;
}

}  // namespace heelstrike::fem
