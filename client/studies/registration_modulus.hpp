/// The modulus of the soles together with the registration of the feet, from the same incomplete stances: a scan over
/// prescribed moduli with the registration refitted for each (registration.hpp), and the minimum of the error between
/// them.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "client/studies/registration.hpp"

namespace heelstrike::client {

/// A registration fitted with one modulus in the material of all main bodies.
struct ModulusTrial {
  double modulus = 0.0;  ///< [Pa]
  double rms = 0.0;      ///< [m] of the centres of pressure or [N] of the vertical forces, over the frames of all feet
  std::vector<FootRegistrationResult> feet;
};

struct ModulusScan {
  std::vector<ModulusTrial> trials;  ///< ascending; the last trial is at the minimum of the parabola
  std::size_t best = 0;              ///< index of the trial with the least rms
  bool at_end = false;               ///< the best trial is the first or the last: the scan does not enclose the minimum
  /// Relative standard deviation of the modulus from the curvature of the squared error and the residual scatter;
  /// frames are assumed independent, which is an approximation. Zero when `at_end`.
  double relative_deviation = 0.0;
};

/// Fits the registration for each modulus, each fit starting from the previous one, then at the minimum of the parabola
/// (in the logarithm) through the best modulus and its neighbours. Complete stances are not used.
/// @param moduli    [Pa] at least three, > 0, ascending
/// @param on_trial  called after each trial
/// @param on_run    as in fit_registration, of the current fit
/// @throws Error{invalid_input} for other moduli; as fit_registration
[[nodiscard]] ModulusScan scan_modulus(const RegistrationTask& task, std::span<const double> moduli, Runner& runner,
                                       const std::stop_token& stop,
                                       const std::function<void(const ModulusTrial&)>& on_trial,
                                       const std::function<void(int, std::span<const double>)>& on_run = {});

/// Abscissa and curvature (second derivative) of the parabola through three points.
struct Parabola {
  double minimum = 0.0;
  double curvature = 0.0;  ///< > 0 for a minimum
};
[[nodiscard]] Parabola parabola_through(std::span<const double, 3> x, std::span<const double, 3> y);

}  // namespace heelstrike::client
