/// Environment for the programs started by a test, so that sanitizer findings in them fail the test.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace heelstrike::testing_support {

/// This process' environment with `extra` added, as "key=value" entries. In a sanitizer build the programs (and their
/// children) write their reports, leaks included, to a folder of this test binary; after the tests, every report there
/// is a failure. Reports of killed programs are kept, but leaks are checked at a regular end only.
[[nodiscard]] std::vector<std::string> child_environment(const std::map<std::string, std::string>& extra = {});

/// A time limit of a test, longer in builds with slow programs (HEELSTRIKE_TEST_TIME_FACTOR of the build).
template <typename Duration>
[[nodiscard]] constexpr Duration scaled_time_limit(Duration limit) {
  return limit * HEELSTRIKE_TEST_TIME_FACTOR;
}

}  // namespace heelstrike::testing_support
