/// The places of a server for Exchange calls: who has them, who gives way, and who is sent home for doing nothing.
///
/// A call costs a thread as long as it is open, so that who opens many and says nothing would keep others out. A call
/// that holds no session is nobody's loss: it is closed soon, and at once when its place is wanted. One that holds
/// sessions and has been idle for long gives way when its place is wanted: its client opens another one with its next
/// question, as after any lost connection.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace heelstrike::rpc {

struct StreamLimits {
  std::size_t max_streams = 1024;               ///< open at a time
  std::size_t max_per_client = 0;               ///< of one client (ClientIdentity::account); 0 = half of max_streams
  std::chrono::milliseconds unused{10'000};     ///< a call that has held no session for so long is closed
  std::chrono::milliseconds idle{3'600'000};    ///< one without a message for so long is closed
  std::chrono::milliseconds inactivity_limit{60'000};  ///< when places are wanted, one without a message for so long is closed
};

/// Thread-safe.
class StreamSlots {
 public:
  using Clock = std::chrono::steady_clock;
  /// Ends a call from outside: quick, from any thread. Does nothing when the call has ended.
  using Close = std::function<void()>;

  explicit StreamSlots(StreamLimits limits);

  /// Held by a call while it is open. Its functions are for the thread of the call and lock nothing.
  class Slot {
   public:
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    /// A message has arrived and is worked on: the call is not idle, however long that takes.
    void begin_work() { busy_.store(true, std::memory_order_relaxed); }
    void end_work() {
      last_used_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
      busy_.store(false, std::memory_order_relaxed);
    }
    void set_has_session(bool holds) { has_session_.store(holds, std::memory_order_relaxed); }

   private:
    friend class StreamSlots;
    Slot(StreamSlots& slots, std::string account, Close close)
        : slots_(slots), account_(std::move(account)), close_(std::move(close)) {
      end_work();
    }
    [[nodiscard]] Clock::duration idle(Clock::time_point now) const {
      return now - Clock::time_point(Clock::duration(last_used_.load(std::memory_order_relaxed)));
    }
    [[nodiscard]] bool is_preemptible() const { return !busy_.load(std::memory_order_relaxed) && !closed_; }

    StreamSlots& slots_;
    const std::string account_;
    const Close close_;
    bool closed_ = false;  ///< guarded by the mutex of the places
    std::atomic<bool> busy_{false};
    std::atomic<bool> has_session_{false};
    std::atomic<Clock::rep> last_used_{0};
  };

  /// @param account  whom the place is counted for
  /// @return null when all places, or those of this client, are taken and nobody gives way
  [[nodiscard]] std::unique_ptr<Slot> acquire(const std::string& account, Close close);
  /// Closes the calls that have done nothing for too long. To be called from time to time.
  void close_idle();

  struct Count {
    std::size_t used = 0;
    std::size_t limit = 0;
  };
  [[nodiscard]] Count all() const;
  [[nodiscard]] Count of_client(const std::string& account) const;

 private:
  [[nodiscard]] std::size_t count_locked(const std::string* account) const;
  /// The place that is missed least among those of `account`, null = of all; null when none may go.
  [[nodiscard]] Slot* find_preemptible_locked(const std::string* account) const;
  static void close_locked(Slot& slot);

  const StreamLimits limits_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::list<Slot*> slots_;  ///< oldest first; those that were closed leave by themselves
};

}  // namespace heelstrike::rpc
