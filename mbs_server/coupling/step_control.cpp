#include "mbs_server/coupling/step_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

/// Safety factor: a step aimed exactly at the tolerance would often be rejected.
constexpr double safety = 0.9;
// The error estimate of one step is not valid for steps of another magnitude, in particular at onset of contact.
constexpr double max_step_growth = 2.0;
constexpr double min_step_reduction = 0.1;
constexpr double max_step_reduction = 0.5;
/// Default ratio of minimum to initial macro step: sixteen bisections cover the range of contact times from an impact
/// to a standing load.
constexpr double default_minimum = 1.0 / 65536.0;
/// Lengths are sums and differences of times of a run.
constexpr double rounding = 1e-9;

}  // namespace

double StepControl::ratio(double energy_error, double length) const {
  double ratio = 0.0;
  if (limits_.energy) ratio = std::max(ratio, energy_error / *limits_.energy);
  if (limits_.power) ratio = std::max(ratio, energy_error / (length * *limits_.power));
  return ratio;
}

double StepControl::next_length(double energy_error, double length, int degree) const {
  double factor = std::numeric_limits<double>::infinity();
  const auto keep = [&](double ratio, int order) {
    if (ratio > 0.0) factor = std::min(factor, safety * std::pow(ratio, -1.0 / order));
  };
  if (limits_.energy) keep(energy_error / *limits_.energy, degree + 2);
  if (limits_.power) keep(energy_error / (length * *limits_.power), degree + 1);
  const bool rejected = ratio(energy_error, length) > 1.0;
  factor = rejected ? std::clamp(factor, min_step_reduction, max_step_reduction)
                    : std::clamp(factor, min_step_reduction, max_step_growth);
  return std::clamp(length * factor, limits_.smallest, limits_.largest);
}

double StepControl::after_failure(double length) const {
  return std::max(limits_.smallest, max_step_reduction * length);
}

bool StepControl::is_minimum(double length) const {
  return length <= limits_.smallest * (1.0 + rounding);
}

config::KeySchema step_control_key() {
  using namespace config;  // NOLINT(google-build-using-namespace): a table of keys
  const Range energies{.min = 1e-18, .max = 1e12};
  return {.name = "step_control",
          .kind = KeyKind::map,
          .meaning =
              "controls the macro steps by the energy that the coupling creates or destroys in each, and repeats "
              "one that exceeds a tolerance",
          .opt_in = true,
          .keys = {number("energy_tolerance", "J", energies, "energy error per macro step"),
                   number("power_tolerance", "W", energies, "energy error per macro step, over its length"),
                   number("min_step", "s", times,
                          "the run ends if a macro step of this length is rejected; default "
                          "macro_step / 65536"),
                   number("max_step", "s", times, "default macro_step")}};
}

void check_step_control(const config::Field& coupling) {
  if (!coupling.has("step_control")) return;
  const config::Field control = coupling["step_control"];
  if (!control.has("energy_tolerance") && !control.has("power_tolerance")) {
    control.reject("energy_tolerance [J], power_tolerance [W], or both", "neither",
                   "give e.g. energy_tolerance: 1.0e-6, a millionth of the energy of the motion");
  }
  const StepControl::Limits limits = read_step_control(coupling)->limits();
  const double first = coupling["macro_step"].number();
  if (control.has("min_step") && limits.smallest > first) {
    control["min_step"].reject(fmt::format("at most macro_step, {} s", first), fmt::format("{} s", limits.smallest),
                               "the first macro step is macro_step");
  }
  if (control.has("max_step") && limits.largest < first) {
    control["max_step"].reject(fmt::format("at least macro_step, {} s", first), fmt::format("{} s", limits.largest),
                               "the first macro step is macro_step");
  }
}

std::optional<StepControl> read_step_control(const config::Field& coupling) {
  if (!coupling.has("step_control")) return std::nullopt;
  const config::Field control = coupling["step_control"];
  const double first = coupling["macro_step"].number();
  return StepControl({.energy = control.optional_number("energy_tolerance"),
                      .power = control.optional_number("power_tolerance"),
                      .smallest = control.optional_number("min_step").value_or(default_minimum * first),
                      .largest = control.optional_number("max_step").value_or(first)});
}

}  // namespace heelstrike::mbs
