/// Two sessions that need the same product of a preparation: one makes it, the other waits and takes it from the cache.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>

namespace heelstrike::fem {

/// Thread-safe; one for all sessions of a process. Outlives its holds.
class PreparationLocks {
 public:
  /// Held while a product is looked up or made.
  class Hold {
   public:
    Hold(PreparationLocks& locks, std::string key) : locks_(locks), key_(std::move(key)) {}
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    PreparationLocks& locks_;
    std::string key_;
  };

  /// Waits until nobody holds `key`. When the holder gave up (cancelled, failed), the next one finds no product and
  /// makes it.
  /// @throws Error{cancelled} when `stop` is requested while waiting
  [[nodiscard]] Hold acquire(const std::string& key, const std::stop_token& stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any released_;
  std::set<std::string> held_;
};

}  // namespace heelstrike::fem
