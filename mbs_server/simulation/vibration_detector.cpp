#include "mbs_server/simulation/vibration_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heelstrike::mbs {
namespace {

/// Fewer are no matter: a contact of bodies that bounce has some tens.
constexpr std::int64_t min_vibration_periods = 50;
/// Fewer take no time worth a sentence.
constexpr std::int64_t min_vibration_steps = 2000;
/// [-] to a period; where there are more something else limits the steps.
constexpr double max_steps = 300.0;

}  // namespace

void VibrationDetector::accept(std::size_t pair, double step_size, const Response& response) {
  Pair& p = pairs_[pair];
  ++p.steps;
  p.time += step_size;
  const Vector3 change = response.F_A.force - p.force;
  // The force turns back when two successive changes point against each other. No component is preferred: friction
  // swings in the tangent plane, bodies in contact along the normal.
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
      "'{}' vibrates in contact, at {:.3g} Hz, and {} steps followed it, {:.0f} to a period. Where that vibration does "
      "not matter give the contact damping (stick_damping, a restitution below 1), or raise atol to what does matter",
      names.at(static_cast<std::size_t>(worst - pairs_.begin())), periods / worst->time, worst->steps, each);
}

}  // namespace heelstrike::mbs
