/// Declarations shared by both programs of bench_chain. C++17: Simbody's headers do not compile as C++20.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace heelstrike::bench {

constexpr double length = 0.1;          // m
constexpr double mass = 0.1;            // kg
constexpr double simulated_time = 0.1;  // s
constexpr double accuracy = 1e-6;       // relative
constexpr double half_angle = 0.3;      // rad, of the zigzag

struct Record {
  double acceleration = 0.0;  // s
  double factor = 0.0;        // s
  double run = 0.0;           // s
  std::int64_t steps = 0;
  double tip_height = 0.0;  // m, to verify that both results agree
};

inline double angle_of(int link) {
  return link % 2 == 0 ? half_angle : -half_angle;
}

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Median of five.
template <typename Work>
double timed(int repetitions, Work work) {
  std::vector<double> times;
  for (int k = 0; k < 5; ++k) {
    const auto begin = Clock::now();
    for (int i = 0; i < repetitions; ++i) work(i);
    times.push_back(seconds_since(begin) / repetitions);
  }
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return times[2];
}

/// The chain with Simbody's ball mobilizers and its Runge-Kutta-Merson integrator.
Record run_simbody_chain(int n);

// Balls that bounce on the ground without loss, each dropped from a different height.
constexpr int n_balls = 3;
constexpr double ball_mass = 1.0;         // kg
constexpr double ball_radius = 0.1;       // m
constexpr double ball_stiffness = 1.0e7;  // N/m^1.5
constexpr double balls_time = 2.0;        // s

inline double drop_height(int ball) {
  return 0.3 + 0.05 * ball;
}

struct BallsRecord {
  double run = 0.0;  // s
  std::int64_t steps = 0;
  double energy_error = 0.0;    // relative, at the end
  std::vector<double> heights;  // m, at the end
};

/// The balls with Simbody's Hunt-Crossley force without damping.
BallsRecord run_simbody_balls();

}  // namespace heelstrike::bench
