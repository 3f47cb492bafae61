/// The modulus of the soles together with the registration of the feet, from the same incomplete stances: a scan over
/// given moduli, the registration fitted anew for each (registration.hpp), and the least of the error between them.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "client/studies/registration.hpp"

namespace heelstrike::client {

/// The registration fitted with one modulus in the material of all main bodies.
struct ModulusTrial {
  double modulus = 0.0;  ///< [Pa]
  double rms = 0.0;      ///< [m] of the centres of pressure or [N] of the vertical forces, over the frames of all feet
  std::vector<FootRegistrationResult> feet;
};

struct ModulusScan {
  std::vector<ModulusTrial> trials;  ///< ascending; the last parabola's minimum is one of them
  std::size_t best = 0;              ///< trial of the least rms
  bool at_end = false;               ///< it is the softest or the stiffest: the scan does not enclose the least error
  /// Relative standard deviation of the modulus by the curvature of the squared error and the scatter that is left;
  /// frames are taken as independent, which they are not quite. Zero when `at_end`.
  double relative_deviation = 0.0;
};

/// Fits the registration with each modulus, each fit starting where the one before ended, then once more at the least
/// of the parabola (in the logarithm) through the best one and its neighbours. Complete stances are never looked at.
/// @param moduli    [Pa] at least three, > 0, ascending
/// @param on_trial  told each trial when it is done
/// @param on_run    as fit_registration, of the fit that is going on
/// @throws Error{invalid_input} for other moduli; as fit_registration
[[nodiscard]] ModulusScan scan_modulus(const RegistrationTask& task, std::span<const double> moduli, Runner& runner,
                                       const std::stop_token& stop,
                                       const std::function<void(const ModulusTrial&)>& on_trial,
                                       const std::function<void(int, std::span<const double>)>& on_run = {});

/// Abscissa and curvature (second derivative) of the parabola through three points.
struct Parabola {
  double minimum = 0.0;
  double curvature = 0.0;  ///< > 0 when the minimum is one
};
[[nodiscard]] Parabola parabola_through(std::span<const double, 3> x, std::span<const double, 3> y);

}  // namespace heelstrike::client
