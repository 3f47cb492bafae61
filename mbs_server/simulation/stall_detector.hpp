/// Notices when the steps of a forward run do not get anywhere, and tells what keeps them short.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike::mbs {

class StallDetector {
 public:
  /// @param pairs  their names, for messages. @param t  [s] where it begins to look
  StallDetector(const AnalysisSpec& analysis, std::vector<std::string> pairs, double t);

  /// A pair has been closed or opened.
  void count_switch(std::size_t pair) { ++n_switches_[pair]; }
  /// A step has been tried; the run stands at `t` [s].
  /// @throws Error{solver_failed} when the last ones did not advance the time: 200 of them by what rounding leaves of
  /// it, or budget.stalled_steps by a billionth of end_time
  void count_step(double t, const IntegratorStatistics& statistics);
  /// Whether count_step() will look at the statistics, which cost something.
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
  double short_window_start_;                    ///< [s] where the last 200 began
};

}  // namespace heelstrike::mbs
