/// The slots of a server for Exchange calls: acquisition, preemption and closing of idle calls.
///
/// An open call occupies a thread, so that a client with many idle calls would exclude others. A call without session
/// is closed soon, and at once if its slot is requested. A call with sessions that has been idle for long is preempted
/// if its slot is requested: its client opens another call with its next request, as after a lost connection.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "rpc/server/call_watch.hpp"

namespace heelstrike::rpc {

struct StreamLimits {
  std::size_t max_streams = 1024;             ///< open at a time
  std::size_t max_per_client = 0;             ///< of one client (ClientIdentity::account); 0 = half of max_streams
  std::chrono::milliseconds unused{10'000};   ///< a call without session for this time is closed
  std::chrono::milliseconds idle{3'600'000};  ///< a call without message for this time is closed
  std::chrono::milliseconds inactivity_limit{60'000};  ///< if slots are requested, a call without message for this time
                                                       ///< is closed
};

/// Thread-safe.
class StreamSlots {
 public:
  using Clock = std::chrono::steady_clock;
  /// Ends a call from any thread without blocking. Does nothing after the end of the call.
  using Close = std::function<void()>;

  explicit StreamSlots(StreamLimits limits);

  /// Owned by an open call. Its functions are called by the thread of the call and do not lock.
  class Slot {
   public:
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    /// A message is being processed: the call is not idle meanwhile.
    void begin_work() { busy_.store(true, std::memory_order_relaxed); }
    void end_work() {
      last_used_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
      busy_.store(false, std::memory_order_relaxed);
    }
    void set_has_session(bool has_session) { has_session_.store(has_session, std::memory_order_relaxed); }

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
    bool closed_ = false;  ///< guarded by the mutex of the slots
    std::atomic<bool> busy_{false};
    std::atomic<bool> has_session_{false};
    std::atomic<Clock::rep> last_used_{0};
  };

  /// @param account  account that is charged for the slot
  /// @return null if all slots, or those of this client, are occupied and none is preemptible
  [[nodiscard]] std::unique_ptr<Slot> acquire(const std::string& account, Close close);
  /// Closes calls that have been idle for too long. Called periodically.
  void close_idle();

  struct Count {
    std::size_t used = 0;
    std::size_t limit = 0;
  };
  [[nodiscard]] Count all() const;
  [[nodiscard]] Count of_client(const std::string& account) const;

 private:
  [[nodiscard]] std::size_t count_locked(const std::string* account) const;
  /// The slot to preempt first among those of `account`, null = of all; null if none is preemptible.
  [[nodiscard]] Slot* find_preemptible_locked(const std::string* account) const;
  static void close_locked(Slot& slot);

  const StreamLimits limits_;
  mutable std::mutex mutex_;  ///< guards the following members
  std::list<Slot*> slots_;    ///< oldest first; closed ones are removed by their calls
};

/// Memory budget of unfinished uploads, which cannot be checked before they are complete. Thread-safe.
class UploadBudget {
 public:
  /// @param per_client  [bytes] of all unfinished uploads of one client
  /// @param total       [bytes] of all unfinished uploads
  UploadBudget(std::size_t per_client, std::size_t total) : per_client_(per_client), total_(total) {}

  /// Memory of one upload so far; released at its end.
  class Share {
   public:
    Share(UploadBudget& budget, std::string account) : budget_(budget), account_(std::move(account)) {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    /// @throws Error{limit}, until other uploads have ended
    void reserve(std::size_t bytes);

   private:
    UploadBudget& budget_;
    std::string account_;
    std::size_t bytes_ = 0;
  };

 private:
  std::size_t per_client_;
  std::size_t total_;
  std::mutex mutex_;  ///< guards the following members
  std::size_t used_ = 0;
  std::map<std::string, std::size_t> used_per_account_;
};

/// Uploads at a time: each occupies a thread. If its slot is requested, one without a header is preempted at once, one
/// without data after a pause that exceeds any round trip.
inline constexpr std::size_t max_uploads = 256;
[[nodiscard]] StreamLimits upload_limits();

/// An upload in pieces: its slot among all uploads, its share of their memory, its timeout.
class UploadCall {
 public:
  /// @throws Error{limit} if all slots, or those of this client, are occupied
  UploadCall(CallWatch& watch, StreamSlots& slots, UploadBudget& budget, grpc::ServerContext& context,
             const std::string& account);

  /// The header has arrived.
  void begun();
  /// A piece has arrived. @throws Error{limit} if it exceeds the memory budget
  void reserve(std::size_t bytes);
  /// All pieces have arrived: it is not preempted while they are processed.
  void complete() { slot_->begin_work(); }
  /// True after a disconnect of the client, a timeout, or a stop of the server.
  [[nodiscard]] bool stopped() const { return call_.token().stop_requested(); }

 private:
  std::unique_ptr<StreamSlots::Slot> slot_;
  CallWatch::Call call_;
  UploadBudget::Share share_;
};

}  // namespace heelstrike::rpc
