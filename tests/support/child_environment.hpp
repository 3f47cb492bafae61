/// Environment for the programs that a test starts, so that what a sanitizer finds in them fails the test.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace heelstrike::testing_support {

/// This process' environment with `extra` on top, as "key=value" entries. In a sanitizer build the programs (and their
/// own children) write their reports, leaks included, to a folder of this test binary; when the tests are over, every
/// report there is a failure. Reports of programs that are killed are not lost, but leaks are only looked for at a
/// regular end.
[[nodiscard]] std::vector<std::string> child_environment(const std::map<std::string, std::string>& extra = {});

/// A time limit of a test, longer where the build makes programs slow (HEELSTRIKE_TEST_TIME_FACTOR of the build).
template <typename Duration>
[[nodiscard]] constexpr Duration scaled_time_limit(Duration limit) {
  return limit * HEELSTRIKE_TEST_TIME_FACTOR;
}

}  // namespace heelstrike::testing_support
