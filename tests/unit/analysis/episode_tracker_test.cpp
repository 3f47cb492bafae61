// Refinement of an episode's peak force and indentation against curves that the interpolation reproduces exactly.
#include "mbs_server/simulation/episode_tracker.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace heelstrike::mbs {
namespace {

Response response(double force, double gap, double gap_rate) {
  Response r;
  r.F_A.force = {0.0, 0.0, force};
  r.gap = gap;
  r.gap_rate = gap_rate;
  return r;
}

// A few rounding errors of quantities of order one.
constexpr double rounding = 1e-14;

TEST(EpisodeTracker, ParabolicForcePeakIsExact) {
  // F = 7 - 3 (t - 0.43)^2, sampled beside its vertex at uneven distances.
  EpisodeTracker tracker("pair");
  const auto force = [](double t) { return 7.0 - 3.0 * (t - 0.43) * (t - 0.43); };
  const std::vector<double> times = {0.0, 0.1, 0.37, 0.9, 1.0};
  tracker.begin(times[0], response(force(times[0]), -0.1, -1.0));
  for (std::size_t i = 1; i < times.size(); ++i) tracker.update(times[i], response(force(times[i]), -0.1, -1.0));
  EXPECT_NEAR(tracker.current()->max_force, 7.0, 10 * rounding);
  EXPECT_NEAR(tracker.current()->max_force_time, 0.43, 10 * rounding);
}

// A load that is raised and kept constant has no peak beyond its final value.
TEST(EpisodeTracker, PlateauHasNoPeak) {
  EpisodeTracker tracker("pair");
  tracker.begin(0.0, response(0.0, -0.1, -1.0));
  for (const auto& [t, force] : {std::pair{0.1, 4.0}, {0.2, 5.0}, {0.3, 5.0}, {0.4, 5.0}, {0.5, 2.0}}) {
    tracker.update(t, response(force, -0.1, 0.0));
  }
  EXPECT_EQ(tracker.current()->max_force, 5.0);
}

TEST(EpisodeTracker, CubicIndentationPeakIsExact) {
  // gap = t^3/3 - t^2 + 0.36 t - 0.2 has rate t^2 - 2 t + 0.36; the cubic through values and rates at two times is the
  // curve itself. Its minimum is where the rate rises through zero: t = 1 + 0.8.
  const auto gap = [](double t) { return t * t * t / 3.0 - t * t + 0.36 * t - 0.2; };
  const auto rate = [](double t) { return t * t - 2.0 * t + 0.36; };
  EpisodeTracker tracker("pair");
  tracker.begin(0.9, response(1.0, gap(0.9), rate(0.9)));
  tracker.update(1.2, response(1.0, gap(1.2), rate(1.2)));
  tracker.update(2.5, response(1.0, gap(2.5), rate(2.5)));
  EXPECT_NEAR(tracker.current()->max_indentation, -gap(1.8), 10 * rounding);
  EXPECT_NEAR(tracker.current()->max_indentation_time, 1.8, 10 * rounding);
}

TEST(EpisodeTracker, VelocitiesAndRestitutionAreThoseAtOnsetAndEnd) {
  EpisodeTracker tracker("pair");
  tracker.begin(1.0, response(0.0, 0.0, -4.0));
  tracker.update(1.1, response(5.0, -0.01, 0.0));
  const ContactEpisode episode = tracker.end(1.2, response(0.0, 0.0, 3.0));
  EXPECT_EQ(episode.pair, "pair");
  EXPECT_EQ(episode.onset, 1.0);
  EXPECT_EQ(episode.end, 1.2);
  EXPECT_EQ(episode.approach_velocity, 4.0);
  EXPECT_EQ(episode.separation_velocity, 3.0);
  EXPECT_EQ(episode.effective_restitution, 0.75);
  EXPECT_FALSE(tracker.open());
}

/// A foot that lands, stands on a compliant sole and is lifted: its velocities at both ends are not those of an impact.
TEST(EpisodeTracker, OnlyAnImpactHasARestitution) {
  EpisodeTracker tracker("pair");
  tracker.begin(0.0, response(0.0, 0.0, -0.02));
  tracker.update(0.1, response(5.0, -0.01, 0.01));
  tracker.update(0.2, response(5.0, -0.01, -0.01));
  tracker.update(0.3, response(5.0, -0.01, 0.01));
  const ContactEpisode stood = tracker.end(0.4, response(0.0, 0.0, 0.01));
  EXPECT_EQ(stood.separation_velocity, 0.01);
  EXPECT_FALSE(stood.effective_restitution.has_value()) << "three extrema";
  tracker.begin(1.0, response(0.0, 0.0, -0.02));
  tracker.update(1.3, response(5.0, -0.01, 0.1));
  const ContactEpisode lifted = tracker.end(1.4, response(0.0, 0.0, 0.574));
  EXPECT_FALSE(lifted.effective_restitution.has_value()) << "an external force made it 28.7 times as fast";
  // The end of an episode is reported twice, as a step and as the separation, with one extremum.
  tracker.begin(2.0, response(0.0, 0.0, -0.5));
  tracker.update(2.1, response(5.0, -0.01, 0.4));
  EXPECT_EQ(tracker.end(2.1, response(0.0, 0.0, 0.4)).effective_restitution, 0.8);
}

TEST(EpisodeTracker, RepeatedTimeReplacesThePoint) {
  EpisodeTracker tracker("pair");
  tracker.begin(0.0, response(1.0, -0.1, -1.0));
  tracker.update(0.5, response(3.0, -0.2, -1.0));
  tracker.update(0.5, response(3.5, -0.2, -1.0));
  tracker.update(1.0, response(2.0, -0.2, 1.0));
  EXPECT_TRUE(std::isfinite(tracker.current()->max_force));
  EXPECT_GE(tracker.current()->max_force, 3.5);
}

TEST(EpisodeTracker, MonotonicForceKeepsItsPeakSample) {
  EpisodeTracker tracker("pair");
  tracker.begin(0.0, response(1.0, -0.1, -1.0));
  for (int i = 1; i <= 5; ++i) tracker.update(0.1 * i, response(1.0 + i, -0.1 - 0.1 * i, -1.0));
  EXPECT_EQ(tracker.current()->max_force, 6.0);
  EXPECT_EQ(tracker.current()->max_indentation, 0.6);
}

}  // namespace
}  // namespace heelstrike::mbs
