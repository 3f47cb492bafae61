/// Contact episodes of one pair from the responses at accepted steps.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"

namespace heelstrike::mbs {

/// Peak force by a parabola through three neighbouring steps, maximum indentation by the cubic through gap and gap rate
/// at two steps: both are of higher order than the step size.
class EpisodeTracker {
 public:
  explicit EpisodeTracker(std::string pair) : pair_(std::move(pair)) {}

  /// Marks the pair as rigid: forces are means over steps and velocities jump, so that values between steps are
  /// unknown.
  void set_rigid() { smooth_ = false; }
  /// An impact of rigid bodies within the episode. @param impulse  [N s]
  void note_impact(double impulse) { episode_->max_impulse = std::max(impulse, episode_->max_impulse.value_or(0.0)); }

  /// Onset at t. In a run that starts in contact the episode begins at the start.
  void begin(double t, const Response& response);
  /// An accepted step within the episode.
  void update(double t, const Response& response);
  /// Separation at t; returns the finished episode. It has a restitution if it was an impact: one reversal, and a
  /// separation velocity not above the approach velocity. A foot in stance also has velocities at both ends, but their
  /// ratio does not characterise the contact.
  ContactEpisode end(double t, const Response& response);

  /// True if the step before the last one had the peak force so far, and the last one less.
  [[nodiscard]] bool has_passed_peak() const;

  [[nodiscard]] const std::string& pair() const { return pair_; }
  [[nodiscard]] bool open() const { return episode_.has_value(); }
  /// The episode so far, without an end.
  [[nodiscard]] const std::optional<ContactEpisode>& current() const { return episode_; }

  struct Point {
    double t = 0.0;
    double force = 0.0;
    double gap = 0.0;
    double gap_rate = 0.0;
  };
  /// For checkpoints.
  struct State {
    std::optional<ContactEpisode> episode;
    std::vector<Point> recent;
    int n_reversals = 0;  ///< changes of the sign of the gap rate since the onset
  };
  [[nodiscard]] State state() const { return {.episode = episode_, .recent = recent_, .n_reversals = n_reversals_}; }
  void set_state(State state);

 private:
  void refine_force();
  void refine_indentation();

  std::string pair_;
  bool smooth_ = true;
  std::optional<ContactEpisode> episode_;
  int n_reversals_ = 0;
  std::vector<Point> recent_;  ///< the last three points, oldest first
};

}  // namespace heelstrike::mbs
