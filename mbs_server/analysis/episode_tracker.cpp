#include "mbs_server/analysis/episode_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heelstrike::mbs {

void EpisodeTracker::begin(double t, const Response& response) {
  episode_ = ContactEpisode{.pair = pair_, .onset = t, .end = {}, .separation_speed = {}, .effective_restitution = {}};
  episode_->approach_speed = std::max(0.0, -response.gap_rate);
  recent_.clear();
  update(t, response);
}

void EpisodeTracker::update(double t, const Response& response) {
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
  refine_force();
  refine_indentation();
}

void EpisodeTracker::refine_force() {
  if (recent_.size() < 3) return;
  const Point& a = recent_[0];
  const Point& b = recent_[1];
  const Point& c = recent_[2];
  if (!(b.force >= a.force && b.force >= c.force)) return;
  // Newton's form of the parabola; its vertex lies between a and c because b is the highest of the three.
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
  if (!(a.gap_rate < 0.0 && b.gap_rate >= 0.0)) return;
  // Cubic Hermite polynomial of the gap on s in [0, 1]; its derivative is a quadratic with one root going upwards.
  const double h = b.t - a.t;
  const double m0 = h * a.gap_rate;
  const double m1 = h * b.gap_rate;
  const double d = b.gap - a.gap;
  const double A = 3.0 * (m0 + m1 - 2.0 * d);
  const double B = 2.0 * (3.0 * d - 2.0 * m0 - m1);
  const double root = std::sqrt(std::max(0.0, B * B - 4.0 * A * m0));
  const double s = std::clamp(-2.0 * m0 / (B + root), 0.0, 1.0);
  const double gap = a.gap + s * (m0 + s * (0.5 * B + s * A / 3.0));
  if (-gap > episode_->max_indentation) {
    episode_->max_indentation = -gap;
    episode_->max_indentation_time = a.t + s * h;
  }
}

bool EpisodeTracker::passed_peak() const {
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
  finished.separation_speed = std::max(0.0, response.gap_rate);
  if (finished.approach_speed > 0.0)
    finished.effective_restitution = *finished.separation_speed / finished.approach_speed;
  return finished;
}

void EpisodeTracker::set_state(State state) {
  episode_ = std::move(state.episode);
  recent_ = std::move(state.recent);
}

}  // namespace heelstrike::mbs
