// Time of one evaluation with about 2,600 candidate nodes and several hundred touching ones. Prints, asserts nothing
// but generous limits: a loaded machine must not fail a test.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

double median_ms(int n, const auto& work) {
  std::vector<double> times;
  for (int i = 0; i < n; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + n / 2, times.end());
  return times[static_cast<std::size_t>(n / 2)];
}

PairState tilted(double depth) {
  PairState state;
  state.X_AB.R = rotation_from_vector(Vector3(0.0, 0.02, 0.0));
  state.X_AB.p.z() = depth;
  return state;
}

TEST(Speed, SlowEvaluationWithManyCandidates) {
  for (const double friction : {0.0, 0.3}) {
    const auto start = std::chrono::steady_clock::now();
    const auto block = test::make_block({.n = 50, .options = {.friction = friction, .depth_limit = 0.02}},
                                        std::make_shared<test::Plane>());
    const double preparation = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const PairState state = tilted(0.75e-3);
    const auto initial = block->initial_history();
    const auto history = block->commit(*initial, state).history;
    PairState next = state;
    next.X_AB.p.z() += 1e-6;
    next.X_AB.R = rotation_from_vector(Vector3(1e-5, 0.02, 0.0));
    const Response r = block->evaluate(*history, next);
    const double cold = median_ms(3, [&] { (void)block->evaluate(*initial, next); });
    const double warm = median_ms(21, [&] { (void)block->evaluate(*history, next); });
    const auto m = static_cast<double>(r.statistics.active_points);
    std::printf(
        "mu %.1f: %zu candidates, %d active, %d iterations; preparation %.1f s, cold %.2f ms, warm %.2f ms; the active "
        "block of 3x3 compliances has %.1f MB\n",
        friction, block->model().points.size(), r.statistics.active_points, r.statistics.iterations, preparation, cold,
        warm, 72e-6 * m * m);
    EXPECT_LT(warm, 2000.0);
  }
}

}  // namespace
}  // namespace heelstrike::fem
