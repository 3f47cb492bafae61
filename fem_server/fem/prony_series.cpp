#include "fem_server/fem/prony_series.hpp"

#include <cmath>
#include <limits>

namespace heelstrike::fem {

namespace {

/// Symmetric matrices as six numbers, scalars as one.
void read(std::span<const double> values, std::size_t i, Matrix3& T) {
  T.setZero();
  if (values.empty()) return;
  const auto v = values.subspan(6 * i, 6);
  T << v[0], v[3], v[5], v[3], v[1], v[4], v[5], v[4], v[2];
}

void read(std::span<const double> values, std::size_t i, double& s) {
  s = values.empty() ? 0.0 : values[i];
}

template <class T>
T read(std::span<const double> values, std::size_t i) {
  T value;
  read(values, i, value);
  return value;
}

void write(const Matrix3& T, std::span<double> values, std::size_t i) {
  if (values.empty()) return;
  const auto v = values.subspan(6 * i, 6);
  v[0] = T(0, 0), v[1] = T(1, 1), v[2] = T(2, 2), v[3] = T(0, 1), v[4] = T(1, 2), v[5] = T(2, 0);
}

void write(double s, std::span<double> values, std::size_t i) {
  if (!values.empty()) values[i] = s;
}

double product(const Matrix3& a, const Matrix3& b) {
  return a.cwiseProduct(b).sum();
}

double product(double a, double b) {
  return a * b;
}

double square(const Matrix3& a) {
  return a.squaredNorm();
}

double square(double a) {
  return a * a;
}

/// (1 - exp(-x)) / x.
double mean_decay(double x) {
  return x > 0.0 ? -std::expm1(-x) / x : 1.0;
}

/// Integral over a step of H : H, in units of tau: H goes from `before` towards g dS/dt tau.
template <class T>
double squared_overstress(const T& before, const T& growth, double x) {
  if (!(x > 0.0)) return 0.0;
  // For short steps the closed form suffers cancellation; Simpson's rule is accurate to x^4.
  if (x < 0.02) {
    const auto at = [&](double s) -> T { return std::exp(-s) * before + s / x * mean_decay(s) * growth; };
    return x / 6.0 * (square(before) + 4.0 * square(at(0.5 * x)) + square(at(x)));
  }
  // H(s) = limit + decaying exp(-s), squared and integrated from 0 to x.
  const T limit = growth / x;
  const T decaying = before - limit;
  return square(limit) * x - 2.0 * product(limit, decaying) * std::expm1(-x) -
         0.5 * square(decaying) * std::expm1(-2.0 * x);
}

}  // namespace

template <class T>
PronySeries::StepOf<T> PronySeries::step(const PointHistoryVariables& memory) const {
  StepOf<T> step;
  step.offset = read<T>({}, 0);
  const T S_before = read<T>(memory.values, 0);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double x = memory.dt / times_[i];
    const double rising = shares_[i] * mean_decay(x);
    // A = g_inf + sum g_i f, h = sum (e H_i - g_i f S_before).
    step.factor += rising - shares_[i];
    step.offset += std::exp(-x) * read<T>(memory.values, i + 1) - rising * S_before;
  }
  return step;
}

template <class T>
PronySeries::Energies PronySeries::advance(const PointHistoryVariables& memory, const T& S, double mu, double energy,
                                           std::span<double> after) const {
  Energies energies;
  const T change = S - read<T>(memory.values, 0);
  write(S, after, 0);
  // For small strain the secant modulus equals mu up to a relative error of the order of the strain, while the energy
  // loses digits with the square of the strain.
  const double small = std::cbrt(std::numeric_limits<double>::epsilon());
  const double strain = std::sqrt(square(S)) / (2.0 * mu);
  const double secant = strain > small ? mu * strain * strain / energy : 1.0;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double x = memory.dt / times_[i];
    const T before = read<T>(memory.values, i + 1);
    const T H = std::exp(-x) * before + shares_[i] * mean_decay(x) * change;
    energies.elastic_fraction -= shares_[i];
    energies.stored += square(H) / (4.0 * secant * mu * shares_[i]);
    energies.dissipated += squared_overstress<T>(before, shares_[i] * change, x) / (2.0 * secant * mu * shares_[i]);
    write(H, after, i + 1);
  }
  return energies;
}

template PronySeries::StepOf<Matrix3> PronySeries::step(const PointHistoryVariables&) const;
template PronySeries::StepOf<double> PronySeries::step(const PointHistoryVariables&) const;
template PronySeries::Energies PronySeries::advance(const PointHistoryVariables&, const Matrix3&, double, double,
                                                    std::span<double>) const;
template PronySeries::Energies PronySeries::advance(const PointHistoryVariables&, const double&, double, double,
                                                    std::span<double>) const;

}  // namespace heelstrike::fem
