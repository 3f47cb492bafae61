/// A run that must complete.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/local_run.hpp"

namespace heelstrike::test {

/// [m/s^2] gravity of these scenarios.
inline constexpr double g = 9.81;

inline RecordedRun completed(const Scenario& scenario) {
  RecordedRun run = run_local(scenario);
  EXPECT_EQ(run.summary.status, "completed") << (run.summary.error ? run.summary.error->what() : "");
  return run;
}

}  // namespace heelstrike::test
