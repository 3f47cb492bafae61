#include "client/studies/registration_modulus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/errors/error.hpp"
#include "library/registries/catalog.hpp"

namespace heelstrike::client {
namespace {

/// The text of the scenario with this modulus in the material of every main body.
RunRequest with_modulus(RunRequest request, double modulus) {
  request.text_changed = true;
  for (const PairModel& pair : request.scenario.pairs) {
    if (pair.spec.main.materials.size() != 1) {
      throw input_error("moduli",
                        fmt::format("--moduli: expected one material of the main body of every pair, found {} "
                                    "in '{}'; add `material` there",
                                    pair.spec.main.materials.size(), pair.spec.name));
    }
    request.yaml = with_override(request.yaml, request.file_name,
                                 fmt::format("contact.{}.main.material.youngs_modulus={:.6g}", pair.spec.name, modulus),
                                 scenario_catalog());
  }
  return request;
}

/// Starts the next fit from the last result.
void initialise_from(RegistrationTask& task, const std::vector<FootRegistrationResult>& feet) {
  for (MarkerMotionSpec& motion : task.request.scenario.motions) {
    for (FootSpec& foot : motion.feet) {
      const auto found = std::ranges::find(feet, motion.name + "." + foot.name, &FootRegistrationResult::foot);
      if (found != feet.end()) foot.registration = found->found;
    }
  }
}

/// Sum over the frames of all feet, so that every frame has the same weight.
double square_sum(const ModulusTrial& trial) {
  double sum = 0.0;
  for (const auto& foot : trial.feet) sum += foot.rms * foot.rms * static_cast<double>(foot.n_frames);
  return sum;
}

double n_frames(const ModulusTrial& trial) {
  double n = 0.0;
  for (const auto& foot : trial.feet) n += static_cast<double>(foot.n_frames);
  return n;
}

/// In the logarithm of the modulus, so that the minimum is positive.
Parabola parabola_at(const std::vector<ModulusTrial>& trials, std::size_t middle) {
  std::array<double, 3> x{}, y{};
  for (std::size_t i = 0; i < 3; ++i) {
    x[i] = std::log(trials[middle + i - 1].modulus);
    y[i] = square_sum(trials[middle + i - 1]);
  }
  return parabola_through(x, y);
}

std::size_t best_of(const std::vector<ModulusTrial>& trials) {
  return static_cast<std::size_t>(std::ranges::min_element(trials, {}, &ModulusTrial::rms) - trials.begin());
}

void check(std::span<const double> moduli) {
  const bool ascending = std::ranges::adjacent_find(moduli, std::greater_equal<>()) == moduli.end();
  if (moduli.size() >= 3 && ascending && moduli.front() > 0.0) return;
  throw input_error("moduli", fmt::format("--moduli: expected at least three ascending values > 0 in Pa, e.g. "
                                          "2e5,4e5,8e5, found {} values{}",
                                          moduli.size(), ascending ? "" : " that do not ascend"));
}

}  // namespace

Parabola parabola_through(std::span<const double, 3> x, std::span<const double, 3> y) {
  const double left = (y[1] - y[0]) / (x[1] - x[0]);
  const double right = (y[2] - y[1]) / (x[2] - x[1]);
  const double curvature = 2.0 * (right - left) / (x[2] - x[0]);
  return {.minimum = 0.5 * (x[0] + x[1]) - left / curvature, .curvature = curvature};
}

ModulusScan scan_modulus(const RegistrationTask& task, std::span<const double> moduli, Runner& runner,
                         const std::stop_token& stop, const std::function<void(const ModulusTrial&)>& on_trial,
                         const std::function<void(int, std::span<const double>)>& on_run) {
  check(moduli);
  RegistrationTask next = task;
  const auto attempt = [&](double modulus) {
    next.request = with_modulus(std::move(next.request), modulus);
    ModulusTrial trial{.modulus = modulus, .rms = 0.0, .feet = fit_registration(next, runner, stop, on_run)};
    trial.rms = std::sqrt(square_sum(trial) / std::max(n_frames(trial), 1.0));
    initialise_from(next, trial.feet);
    if (on_trial) on_trial(trial);
    return trial;
  };
  ModulusScan scan;
  for (const double modulus : moduli) scan.trials.push_back(attempt(modulus));
  scan.best = best_of(scan.trials);
  scan.at_end = scan.best == 0 || scan.best + 1 == scan.trials.size();
  if (scan.at_end) return scan;
  const Parabola parabola = parabola_at(scan.trials, scan.best);
  initialise_from(next, scan.trials[scan.best].feet);
  const ModulusTrial refined = attempt(std::exp(parabola.minimum));
  const auto place = std::ranges::lower_bound(scan.trials, refined.modulus, {}, &ModulusTrial::modulus);
  scan.trials.insert(place, refined);
  scan.best = best_of(scan.trials);
  const ModulusTrial& best = scan.trials[scan.best];
  const double n_unknowns = 1.0 + static_cast<double>(task.free.size() * best.feet.size());
  const double variance = square_sum(best) / std::max(2.0 * n_frames(best) - n_unknowns, 1.0);
  scan.relative_deviation = std::sqrt(2.0 * variance / parabola.curvature);
  return scan;
}

}  // namespace heelstrike::client
