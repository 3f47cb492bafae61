/// Quasi-linear viscoelasticity: the isochoric stress relaxes by a series of exponentials [fung1993, section 7.6],
///
///     Q = g_inf S + sum H_i,    dH_i/dt + H_i / tau_i = g_i dS/dt,    g_inf = 1 - sum g_i
///
/// with the isochoric stress S = J^2/3 F^-1 dev(tau) F^-T of the elastic law, and the second Piola-Kirchhoff stress
/// J^-2/3 (Q - (Q : C) C^-1 / 3) in the place of the elastic J^-2/3 S [simo1987]. Where S is taken as linear in time
/// between two commits the recurrence is exact, whatever the length of the step:
///
///     H_i <- e H_i + g_i f (S - S_before),    e = exp(-dt/tau_i),   f = (1 - e) tau_i / dt
///
/// So Q = A S + h with A = g_inf + sum g_i f and h known before the step: the stress has a potential again.
///
/// The tension of fibres relaxes in the same way as a number, 2 dW_f/dE in the place of S.
#pragma once

#include <span>
#include <vector>

#include "fem_server/fem/material_law.hpp"

namespace heelstrike::fem {

class PronySeries {
 public:
  /// Elastic.
  PronySeries() = default;
  /// @param shares  [-] g_i > 0 of the instantaneous shear modulus, their sum below 1
  /// @param times   [s] tau_i > 0, one for each share
  PronySeries(std::vector<double> shares, std::vector<double> times)
      : shares_(std::move(shares)), times_(std::move(times)) {}

  [[nodiscard]] bool empty() const { return shares_.empty(); }
  /// Numbers that a point remembers: S and all H_i, six of each; none for an elastic law.
  [[nodiscard]] std::size_t memory_size() const { return empty() ? 0 : 6 * (1 + shares_.size()); }
  /// The same where S is a number.
  [[nodiscard]] std::size_t n_scalar_history_variables() const { return empty() ? 0 : 1 + shares_.size(); }

  /// A and h [Pa] of a step. T is Matrix3, or double where S is a number.
  template <class T>
  struct StepOf {
    double factor = 1.0;
    T offset{};
  };
  template <class T>
  [[nodiscard]] StepOf<T> step(const PointHistoryVariables& memory) const;

  /// [J/m^3] stored in the branches, sum H_i : H_i / (4 m g_i), and turned into heat since the commit, the integral of
  /// sum H_i : H_i / (2 m g_i tau_i), with the secant modulus m = S : S / (4 W) of the elastic energy W. These are the
  /// energies of springs and dashpots for small strain, where m = mu, and estimates for large strain, where the model
  /// has none of its own; neither is ever negative.
  struct Energies {
    double elastic_share = 1.0;  ///< [-] g_inf, of the elastic isochoric energy
    double stored = 0.0;
    double dissipated = 0.0;
  };
  /// T is Matrix3, or double where S is a number.
  /// @param S       [Pa] at the end of the step
  /// @param mu      [Pa] > 0, that of small strain, where W = S : S / (4 mu)
  /// @param energy  [J/m^3] W there
  /// @param after   memory_size() numbers, or n_scalar_history_variables(): the memory then; empty = not wanted
  template <class T>
  [[nodiscard]] Energies advance(const PointHistoryVariables& memory, const T& S, double mu, double energy,
                                 std::span<double> after) const;

 private:
  std::vector<double> shares_, times_;
};

}  // namespace heelstrike::fem
