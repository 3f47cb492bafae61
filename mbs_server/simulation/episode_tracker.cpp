#include "mbs_server/simulation/episode_tracker.hpp"

#include <algorithm>
#include <utility>

#include "mbs_server/coupling/contact_states.hpp"

namespace heelstrike::mbs {

void EpisodeTracker::begin(double t, const Response& response) {
  episode_ =
      ContactEpisode{.pair = pair_, .onset = t, .end = {}, .separation_velocity = {}, .effective_restitution = {}};
  episode_->approach_velocity = std::max(0.0, -response.gap_rate);
  recent_.clear();
  n_reversals_ = 0;
  update(t, response);
}

void EpisodeTracker::update(double t, const Response& response) {
  // In an impact this sign changes once, from approach to separation; rocking or vibration reverses it more often.
  if (!recent_.empty() && (recent_.back().gap_rate < 0.0) != (response.gap_rate < 0.0)) ++n_reversals_;
  // Two responses at one time, as at an event, would cause a division by zero below.
  if (!recent_.empty() && recent_.back().t == t) recent_.pop_back();
  if (recent_.size() == 3) recent_.erase(recent_.begin());
  recent_.push_back({.t = t, .force = response.F_A.force.norm(), .gap = response.gap, .gap_rate = response.gap_rate});
  const Point& last = recent_.back();
  if (last.force > episode_->max_force) {
    episode_->max_force = last.force;
    episode_->max_force_time = t;
  }
  if (-last.gap > episode_->max_indentation) {
    episode_->max_indentation = -last.gap;
    episode_->max_indentation_time = t;
  }
  if (!smooth_) return;
  refine_force();
  refine_indentation();
}

void EpisodeTracker::refine_force() {
  if (recent_.size() < 3) return;
  const Point& a = recent_[0];
  const Point& b = recent_[1];
  const Point& c = recent_[2];
  // Only the middle of three steps can be a peak; three points on a slope have their vertex outside, and the end of a
  // plateau is not a peak.
  if (!(b.force > a.force && b.force > c.force)) return;
  // Newton's form of the parabola; its vertex lies between a and c because b is the maximum.
  const double slope_ab = (b.force - a.force) / (b.t - a.t);
  const double slope_bc = (c.force - b.force) / (c.t - b.t);
  const double curvature = (slope_bc - slope_ab) / (c.t - a.t);
  if (!(curvature < 0.0)) return;
  const double t = 0.5 * (a.t + b.t) - slope_ab / (2.0 * curvature);
  const double force = a.force + (t - a.t) * (slope_ab + curvature * (t - b.t));
  if (force > episode_->max_force) {
    episode_->max_force = force;
    episode_->max_force_time = t;
  }
}

void EpisodeTracker::refine_indentation() {
  if (recent_.size() < 2) return;
  const Point& a = recent_[recent_.size() - 2];
  const Point& b = recent_.back();
  // The maximum indentation lies between an approaching step and one that no longer approaches.
  if (!(a.gap_rate < 0.0 && b.gap_rate >= 0.0)) return;
  const auto lowest = lowest_between({.t = a.t, .gap = a.gap, .gap_rate = a.gap_rate},
                                     {.t = b.t, .gap = b.gap, .gap_rate = b.gap_rate});
  if (!lowest || -lowest->gap <= episode_->max_indentation) return;
  episode_->max_indentation = -lowest->gap;
  episode_->max_indentation_time = lowest->t;
}

bool EpisodeTracker::has_passed_peak() const {
  if (recent_.size() < 3) return false;
  const Point& a = recent_[0];
  const Point& b = recent_[1];
  const Point& c = recent_[2];
  return b.force >= a.force && b.force > c.force && episode_->max_force_time > a.t;
}

ContactEpisode EpisodeTracker::end(double t, const Response& response) {
  update(t, response);
  ContactEpisode finished = *std::exchange(episode_, std::nullopt);
  finished.end = t;
  finished.separation_velocity = std::max(0.0, response.gap_rate);
  // An elastic impact gives 1 up to the integration error.
  constexpr double largest = 1.0 + 1e-3;
  const bool impact = n_reversals_ == 1 && finished.approach_velocity > 0.0;
  if (impact && *finished.separation_velocity <= largest * finished.approach_velocity) {
    finished.effective_restitution = *finished.separation_velocity / finished.approach_velocity;
  }
  return finished;
}

void EpisodeTracker::set_state(State state) {
  episode_ = std::move(state.episode);
  recent_ = std::move(state.recent);
  n_reversals_ = state.n_reversals;
}

}  // namespace heelstrike::mbs
