/// Detects stalled steps of a forward run, and reports their cause.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

class StallDetector {
 public:
  /// @param pairs  names, for messages. @param t  [s] start of the detection
  StallDetector(const AnalysisSpec& analysis, std::vector<std::string> pairs, double t);

  /// A pair has been closed or opened.
  void count_switch(std::size_t pair) { ++n_switches_[pair]; }
  /// A step has been tried; the run is at `t` [s].
  /// @throws Error{solver_failed} when the time stalls: 200 steps within rounding of the time, or budget.stalled_steps
  /// within a billionth of end_time
  void count_step(double t, const IntegratorStatistics& statistics);
  /// True if the next count_step() reads the statistics, which are not free.
  [[nodiscard]] bool is_window_end() const { return n_steps_ + 1 == budget_.stalled_steps; }

 private:
  [[nodiscard]] std::string describe_step_limit(const IntegratorStatistics& now) const;

  std::string integrator_;
  double end_time_;
  RunBudget budget_;
  std::vector<std::string> pairs_;
  std::vector<std::int64_t> n_switches_;  ///< per pair in this window
  IntegratorStatistics before_;           ///< at the beginning of this window
  std::int64_t n_steps_ = 0;              ///< tried in this window
  double start_;                          ///< [s] of this window
  double short_window_start_;             ///< [s] start of the last 200 steps
};

}  // namespace heelstrike::mbs
