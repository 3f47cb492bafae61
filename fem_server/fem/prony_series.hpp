/// Quasi-linear viscoelasticity: the isochoric stress relaxes by a series of exponentials [fung1993, section 7.6],
///
///     Q = g_inf S + sum H_i,    dH_i/dt + H_i / tau_i = g_i dS/dt,    g_inf = 1 - sum g_i
///
/// with the isochoric stress S = J^2/3 F^-1 dev(tau) F^-T of the elastic law, and the second Piola-Kirchhoff stress
/// J^-2/3 (Q - (Q : C) C^-1 / 3) instead of the elastic J^-2/3 S [simo1987]. For S linear in time between two commits
/// the recurrence is exact for any step length:
///
///     H_i <- e H_i + g_i f (S - S_before),    e = exp(-dt/tau_i),   f = (1 - e) tau_i / dt
///
/// Hence Q = A S + h with A = g_inf + sum g_i f and h known before the step: the incremental stress has a potential.
///
/// The tension of fibres relaxes in the same way with the scalar 2 dW_f/dE instead of S.
#pragma once

#include <span>
#include <vector>

#include "fem_server/fem/material_law.hpp"

namespace heelstrike::fem {

class PronySeries {
 public:
  /// Elastic.
  PronySeries() = default;
  /// @param shares  [-] g_i > 0, fractions of the instantaneous shear modulus with a sum below 1
  /// @param times   [s] tau_i > 0, one for each share
  PronySeries(std::vector<double> shares, std::vector<double> times)
      : shares_(std::move(shares)), times_(std::move(times)) {}

  [[nodiscard]] bool empty() const { return shares_.empty(); }
  /// Number of history variables per point: S and all H_i, six components each; 0 for an elastic law.
  [[nodiscard]] std::size_t memory_size() const { return empty() ? 0 : 6 * (1 + shares_.size()); }
  /// Likewise for scalar S.
  [[nodiscard]] std::size_t n_scalar_history_variables() const { return empty() ? 0 : 1 + shares_.size(); }

  /// A and h [Pa] of a step. T is Matrix3, or double for scalar S.
  template <class T>
  struct StepOf {
    double factor = 1.0;
    T offset{};
  };
  template <class T>
  [[nodiscard]] StepOf<T> step(const PointHistoryVariables& memory) const;

  /// [J/m^3] stored in the branches, sum H_i : H_i / (4 m g_i), and dissipated since the commit, the integral of
  /// sum H_i : H_i / (2 m g_i tau_i), with the secant modulus m = S : S / (4 W) of the elastic energy W. These are the
  /// energies of springs and dashpots for small strain, where m = mu, and estimates for large strain, for which the
  /// model defines none; both are non-negative.
  struct Energies {
    double elastic_fraction = 1.0;  ///< [-] g_inf, of the elastic isochoric energy
    double stored = 0.0;
    double dissipated = 0.0;
  };
  /// T is Matrix3, or double for scalar S.
  /// @param S       [Pa] at the end of the step
  /// @param mu      [Pa] > 0, small-strain modulus, for which W = S : S / (4 mu)
  /// @param energy  [J/m^3] W there
  /// @param after   memory_size() or n_scalar_history_variables() numbers at the end of the step; empty = not requested
  template <class T>
  [[nodiscard]] Energies advance(const PointHistoryVariables& memory, const T& S, double mu, double energy,
                                 std::span<double> after) const;

 private:
  std::vector<double> shares_, times_;
};

}  // namespace heelstrike::fem
