#include "mbs_server/simulation/stall_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

StallDetector::StallDetector(const AnalysisSpec& analysis, std::vector<std::string> pairs, double t)
    : integrator_(analysis.integrator.name),
      end_time_(analysis.end_time),
      budget_(analysis.budget),
      pairs_(std::move(pairs)),
      n_switches_(pairs_.size(), 0),
      start_(t),
      short_window_start_(t) {}

void StallDetector::count_step(double t, const IntegratorStatistics& statistics) {
  // Before a state that the model always rejects, an integrator may continue indefinitely with steps of the size of a
  // rounding error.
  constexpr int few = 200;
  constexpr double min_step = 16.0 * std::numeric_limits<double>::epsilon();  // relative to t
  if (++n_steps_ % few == 0) {
    if (t - short_window_start_ < few * min_step * t) {
      throw Error(ErrorCode::solver_failed, fmt::format("{} failed at t = {} s: {} steps advanced the time by only "
                                                        "{:.2g} s.",
                                                        integrator_, t, few, t - short_window_start_));
    }
    short_window_start_ = t;
  }
  if (n_steps_ < budget_.stalled_steps) return;
  constexpr double min_progress = 1e-9;
  // Less than a billionth of the run in this number of steps: the run would not end.
  if (t - start_ < min_progress * end_time_ && t < end_time_) {
    throw Error(ErrorCode::solver_failed,
                fmt::format("{} makes no progress at t = {} s: {} steps (analysis.budget.stalled_steps) advanced the "
                            "time by only {:.2g} s of {} s: {}.",
                            integrator_, t, n_steps_, t - start_, end_time_, describe_step_limit(statistics)));
  }
  before_ = statistics;
  start_ = short_window_start_ = t;
  n_steps_ = 0;
  std::ranges::fill(n_switches_, 0);
}

std::string StallDetector::describe_step_limit(const IntegratorStatistics& now) const {
  const auto worst = std::ranges::max_element(n_switches_);
  if (worst != n_switches_.end() && *worst > n_steps_ / 10) {
    return fmt::format("contact '{}' began or ended {} times",
                       pairs_[static_cast<std::size_t>(worst - n_switches_.begin())], *worst);
  }
  const std::int64_t rejected = now.rejected_steps - before_.rejected_steps;
  if (rejected > n_steps_ / 10) {
    return fmt::format(
        "{} steps were rejected because their error was too large, the iteration did not converge, or the "
        "model rejected the state",
        rejected);
  }
  return "no event or rejection ended them: the motion is that fast, or the tolerances require more than "
         "numbers "
         "of 16 digits provide";
}

}  // namespace heelstrike::mbs
