#include "mbs_server/simulation/vibration_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heelstrike::mbs {
namespace {

/// Threshold of the warning: bouncing contacts have some tens of periods.
constexpr std::int64_t min_vibration_periods = 50;
/// Threshold of the warning: fewer steps have negligible cost.
constexpr std::int64_t min_vibration_steps = 2000;
/// [-] steps per period above which the vibration does not limit the step size.
constexpr double max_steps = 300.0;

}  // namespace

void VibrationDetector::accept(std::size_t pair, double step_size, const Response& response) {
  Pair& p = pairs_[pair];
  ++p.steps;
  p.time += step_size;
  const Vector3 change = response.F_A.force - p.force;
  // The force reverses when two successive changes have opposite directions. All components are used: friction vibrates
  // in the tangent plane, bodies in contact along the normal.
  if (p.known == 2 && change.dot(p.change) < 0.0) ++p.turns;
  p.force = response.F_A.force;
  p.change = change;
  p.known = std::min(p.known + 1, 2);
}

std::optional<std::string> VibrationDetector::describe(const std::vector<std::string>& names) const {
  const auto worst = std::ranges::max_element(pairs_, {}, &Pair::turns);
  if (worst == pairs_.end() || worst->steps < min_vibration_steps || worst->turns < 2 * min_vibration_periods)
    return {};
  const double periods = 0.5 * static_cast<double>(worst->turns);
  const double each = static_cast<double>(worst->steps) / periods;
  if (each > max_steps) return {};
  return fmt::format(
      "'{}' vibrates in contact, at {:.3g} Hz, and {} steps resolved it, {:.0f} per period. If that vibration is not "
      "of interest add contact damping (stick_damping, a restitution below 1), or raise atol to the required accuracy",
      names.at(static_cast<std::size_t>(worst - pairs_.begin())), periods / worst->time, worst->steps, each);
}

}  // namespace heelstrike::mbs
