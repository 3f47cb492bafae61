// Concurrent sessions with the same product, without a cache on disk.
#include "fem_server/backend_interface/preparation_locks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::fem {
namespace {

/// `n` threads that request `key` while the first one makes it; it ends when all others wait.
std::vector<int> together(PreparationLocks& locks, int n, const std::function<int()>& make) {
  std::vector<int> got(static_cast<std::size_t>(n), -1);
  std::latch begun(1);
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    const auto slow = [&] {
      begun.count_down();
      while (locks.n_waiting() + 1 < static_cast<std::size_t>(n)) std::this_thread::yield();
      return make();
    };
    try {
      got[0] = locks.once<int>("body", {}, slow);
    } catch (const Error&) {
    }
  });
  begun.wait();
  for (int i = 1; i < n; ++i) {
    threads.emplace_back(
        [&, i] { got[static_cast<std::size_t>(i)] = locks.once<int>("body", {}, [&] { return make(); }); });
  }
  threads.clear();
  return got;
}

TEST(PreparationLocks, OneThreadPreparesForAll) {
  PreparationLocks locks;
  std::atomic<int> n_created = 0;
  EXPECT_EQ(together(locks, 4, [&] { return ++n_created; }), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(locks.once<int>("body", {}, [&] { return ++n_created; }), 2) << "kept without a waiting thread";
  EXPECT_EQ(locks.once<int>("other", {}, [] { return 7; }), 7);
}

TEST(PreparationLocks, NextThreadPreparesAfterAFailure) {
  PreparationLocks locks;
  std::atomic<int> n_tried = 0;
  const auto got = together(locks, 3, [&] {
    if (++n_tried == 1) throw Error(ErrorCode::cancelled, "gone");
    return n_tried.load();
  });
  EXPECT_EQ(got[0], -1);
  EXPECT_EQ(got[1], got[2]) << "one of the two made it";
  EXPECT_EQ(n_tried, 2);
}

TEST(PreparationLocks, WaitingThreadCanBeStopped) {
  PreparationLocks locks;
  std::stop_source stopped;
  std::latch begun(1);
  std::jthread first([&] {
    (void)locks.once<int>("body", {}, [&] {
      begun.count_down();
      while (locks.n_waiting() == 0) std::this_thread::yield();
      stopped.request_stop();
      while (locks.n_waiting() == 1) std::this_thread::yield();
      return 1;
    });
  });
  begun.wait();
  EXPECT_THROW((void)locks.once<int>("body", stopped.get_token(), [] { return 2; }), Error);
}

}  // namespace
}  // namespace heelstrike::fem
