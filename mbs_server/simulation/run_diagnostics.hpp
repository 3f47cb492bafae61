/// Diagnostics of a forward run: checks of accepted states and steps, warnings, of which each is reported once, and the
/// description of a failure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/simulation/coupled_model.hpp"

namespace heelstrike::mbs {

/// Residuals of the position constraints [m or -] and of the velocity constraints [m/s or 1/s], each relative to the
/// largest coordinate or rate if that exceeds one. Methods with projection achieve 1e-10.
struct ViolationLimit {
  double position;
  double velocity;
};
/// Failure limit: separation at joints of a hundredth of a metre, or a change of body lengths by a hundredth.
inline constexpr ViolationLimit max_violation{.position = 1e-2, .velocity = 1e-1};
/// Warning limit: a hundredth of max_violation.
inline constexpr ViolationLimit warning_violation{.position = 1e-4, .velocity = 1e-3};

/// Detects stalled steps of a forward run, and reports their cause.
class StallDetector {
 public:
  /// @param pairs  names, for messages. @param t  [s] start of the detection
  StallDetector(const AnalysisSpec& analysis, std::vector<std::string> pairs, double t);
  /// A pair has been closed or opened.
  void count_switch(std::size_t pair) { ++n_switches_[pair]; }
  /// A step has been tried; the run is at `t` [s].
  /// @throws Error{solver_failed} when the time stalls: 200 steps within rounding of the time, or budget.stalled_steps
  /// within a billionth of end_time, or within a millionth if they last less than 1e-13 s on average
  void count_step(double t, const IntegratorStatistics& statistics);
  /// True if the next count_step() reads the statistics, which are not free.
  [[nodiscard]] bool is_window_end() const { return n_steps_ + 1 == budget_.stalled_steps; }

 private:
  [[nodiscard]] double min_progress() const;  ///< [s] in a window
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

/// Counts reversals of contact forces during contact: integrators with error control resolve an undamped vibration of a
/// contact with tens of steps per period, although it is invisible in forces over seconds.
class VibrationDetector {
 public:
  explicit VibrationDetector(std::size_t n_pairs) : pairs_(n_pairs) {}
  /// An accepted step that ends at `t` with the pair in contact. @param t, step_size  [s]
  void accept(std::size_t pair, double t, double step_size, const Response& response);
  /// The pair is not in contact.
  void forget(std::size_t pair) { pairs_[pair].known = 0; }
  /// Warning if vibrations in contact required many steps, with their frequency: one over the median of the intervals
  /// between onsets and of twice those between reversals of the force within a contact. Else none.
  /// @param pairs  all pairs, as opened. @param atol  of the integrator
  [[nodiscard]] std::optional<std::string> describe(std::span<const PairDescription> pairs, double atol) const;

 private:
  struct Instant {
    double t = 0.0;         ///< [s]
    std::int64_t step = 0;  ///< steps in contact until then
  };
  struct Pair {
    /// A period, or half of one, has ended at `t` [s]. @param from  its begin, if known
    void add(const std::optional<Instant>& from, double t, double parts_per_period);

    Vector3 force = Vector3::Zero();   ///< [N] of the last step
    Vector3 change = Vector3::Zero();  ///< [N] in the last step
    int known = 0;                     ///< number of known values: 1 the force, 2 also the change
    std::int64_t steps = 0;            ///< in contact
    std::int64_t n_reversals = 0;      ///< of the force: two per period
    std::optional<Instant> last_onset;
    std::optional<Instant> last_reversal;  ///< in the present contact
    std::vector<double> durations;         ///< [s] of the first periods
    std::vector<double> n_steps;           ///< in each of these
  };
  std::vector<Pair> pairs_;
};

class RunDiagnostics {
 public:
  /// @param scenario, model  outlive this object. @param log  receives the warnings
  RunDiagnostics(const Scenario& scenario, CoupledModel& model, AssemblyLog log);

  /// Starts the detection of stalls and vibrations anew from the committed state; warnings stay reported.
  void restart_detection();

  /// Checks a step before it is accepted: an invalid one ends the run; an inaccurate one is reported, because fixed
  /// steps do not control their error, as are impacts of rigid bodies without a regular solution.
  /// @throws Error{solver_failed} for a state that is not finite or violates joints by more than max_violation
  void check_step(const StepResult& step, const Integrator& integrator);
  /// A step has been tried. @throws as StallDetector::count_step
  void count_step(const Integrator& integrator);
  /// A pair has been closed or opened.
  void count_switch(std::size_t pair) { stall_.count_switch(pair); }
  /// As VibrationDetector. @{
  void accept_contact(std::size_t pair, double t, double step_size, const Response& response) {
    vibrations_.accept(pair, t, step_size, response);
  }
  void forget_contact(std::size_t pair) { vibrations_.forget(pair); }
  /// @}
  /// Reports the first continuation across a singular pose.
  void report_singularity(const std::string& text);

  /// Warning if steps resolved a vibration of a contact; else none.
  [[nodiscard]] std::optional<std::string> vibration() const {
    return vibrations_.describe(model_.pairs(), scenario_.analysis.integrator.atol);
  }
  /// Warning if friction impulses of rigid bodies were not found; else none.
  [[nodiscard]] std::optional<std::string> unsolved_impacts() const;
  /// Description of a failure after the last committed step: pairs in contact, the constraint with the largest
  /// residual, the body with the largest acceleration, singular poses, and the last rejection by the contact.
  [[nodiscard]] std::string describe_failure();

 private:
  enum Warning { violation, step_errors, unfinished_impacts, unsolved_friction, singularity, n_warnings };
  /// True at the first call for this warning.
  [[nodiscard]] bool is_first(Warning warning) { return !std::exchange(reported_[warning], true); }
  void report_unfinished_impacts();
  [[nodiscard]] std::string join_names(const std::vector<std::size_t>& pairs) const;
  [[nodiscard]] std::string describe_fastest_body();

  const Scenario& scenario_;
  CoupledModel& model_;
  AssemblyLog log_;
  StallDetector stall_;
  VibrationDetector vibrations_;
  double step_errors_ = 0.0;  ///< sum of StepResult::error
  std::array<bool, n_warnings> reported_{};
};

}  // namespace heelstrike::mbs
