// Independent tasks on several threads: each once, the first error, and processes that may have no further thread.
#include "common/process/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace heelstrike {
namespace {

TEST(Parallel, DoesEachTaskOnceOnAnyNumberOfThreads) {
  for (const std::size_t n_threads : {0U, 1U, 2U, 7U}) {
    for (const std::size_t n : {0U, 1U, 5U, 1000U}) {
      std::vector<std::atomic<int>> done(n);
      for_each_in_parallel(n, n_threads, [&](std::size_t i) { ++done[i]; });
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(done[i], 1) << i << " of " << n << " on " << n_threads;
    }
  }
}

TEST(Parallel, ThrowsTheErrorOfTheLowestTaskAndStartsNoOther) {
  for (const std::size_t n_threads : {1U, 4U}) {
    for (int round = 0; round < 50; ++round) {
      std::atomic<std::size_t> n_started{0};
      std::string message;
      try {
        for_each_in_parallel(100000, n_threads, [&](std::size_t i) {
          ++n_started;
          if (i >= 10) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      EXPECT_EQ(message, "10");
      EXPECT_LE(n_started, 10 + n_threads);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// A child process, because its limits remain.
TEST(Parallel, GoesOnWithTheThreadsThatExist) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlim_t pages = 0;  // in use
    std::ifstream("/proc/self/statm") >> pages;
    // Space for the stacks of a few of 1000 threads.
    const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20U);
    const rlimit address_space{.rlim_cur = limit, .rlim_max = limit};
    ::setrlimit(RLIMIT_AS, &address_space);
    std::atomic<std::size_t> n_done{0};
    for_each_in_parallel(1000, 1000, [&](std::size_t) { ++n_done; });
    ::_exit(n_done == 1000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

#endif

}  // namespace
}  // namespace heelstrike
