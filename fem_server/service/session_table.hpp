/// Table of open sessions of a server: lookup by id, limited number, expiry when idle.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "fem_server/service/limits.hpp"
#include "fem_server/sessions/session.hpp"
#include "rpc/server/call_watch.hpp"

namespace heelstrike::fem {

/// A session with the bookkeeping of the service.
class OpenSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param owner  rpc::ClientIdentity::owner of the opening client
  OpenSession(std::string id, std::string run_id, std::string owner, std::unique_ptr<Session> session);

  /// Secret that grants access to the session: it appears in no log or message.
  [[nodiscard]] const std::string& id() const { return id_; }
  /// Identifies the session in logs; grants no access.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  [[nodiscard]] Session& session() { return *session_; }
  /// False after close or expiry.
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }

  /// Exists during a call: a session is not idle during a call of any duration.
  class CallReference {
   public:
    explicit CallReference(OpenSession& session) : session_(session) { ++session_.n_calls_; }
    ~CallReference() {
      session_.update_last_used();
      --session_.n_calls_;
    }
    CallReference(const CallReference&) = delete;
    CallReference& operator=(const CallReference&) = delete;

   private:
    OpenSession& session_;
  };

  /// Kept by a stream: the client of the session is connected, even without requests.
  class StreamReference {
   public:
    explicit StreamReference(std::shared_ptr<OpenSession> session) : session_(std::move(session)) {
      ++session_->n_streams_;
    }
    ~StreamReference() {
      session_->update_last_used();
      --session_->n_streams_;
    }
    StreamReference(const StreamReference&) = delete;
    StreamReference& operator=(const StreamReference&) = delete;
    [[nodiscard]] OpenSession& session() const { return *session_; }

   private:
    std::shared_ptr<OpenSession> session_;
  };

  void update_last_used();
  [[nodiscard]] Clock::time_point last_used() const;
  [[nodiscard]] bool in_use() const { return n_calls_ > 0; }

 private:
  friend class CallReference;
  friend class SessionTable;
  std::string id_;
  std::string run_id_;
  std::string owner_;
  std::uint64_t number_ = 0;
  std::unique_ptr<Session> session_;
  std::atomic<bool> open_{true};
  std::atomic<int> n_calls_{0};
  std::atomic<int> n_streams_{0};
  std::atomic<Clock::rep> last_used_;
};

/// Thread-safe. A session of another client is treated as nonexistent.
class SessionTable {
 public:
  /// @param on_session_count  called with the number of open sessions after every change, from any thread; must be fast
  SessionTable(const ServiceLimits& limits, std::function<void(std::size_t)> on_session_count);
  ~SessionTable();

  /// Reservation of one of `max_sessions`, kept while a session is prepared.
  class Slot {
   public:
    explicit Slot(SessionTable& table) : table_(&table) {}
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    SessionTable* table_;
  };
  /// @throws Error{limit} when all slots are in use or the memory limit of the process is exceeded
  [[nodiscard]] std::unique_ptr<Slot> reserve();

  /// Converts a slot into an open session with a new, unguessable id.
  std::shared_ptr<OpenSession> insert(std::unique_ptr<Slot> slot, std::string run_id, std::string owner,
                                      std::unique_ptr<Session> session);

  using Client = rpc::ClientIdentity;
  /// Finds a session and updates its last use. @throws Error{not_found} for an unknown, closed or expired session
  [[nodiscard]] std::shared_ptr<OpenSession> find(const std::string& id, const Client& client);

  /// Time since the end of the last call of a session, zero during a call. Does not count as a call. @throws
  /// Error{not_found}
  [[nodiscard]] OpenSession::Clock::duration idle(const std::string& id, const Client& client);

  /// @throws Error{not_found}
  void close(const std::string& id, const Client& client);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::chrono::milliseconds idle_timeout() const { return limits_.idle_timeout; }

 private:
  using Sessions = std::unordered_map<std::string, std::shared_ptr<OpenSession>>;
  [[nodiscard]] Error unknown() const;
  [[nodiscard]] Sessions::iterator find_locked(const std::string& id, const Client& client);
  /// Expiry time of `session` without further calls; never expires during a call.
  [[nodiscard]] OpenSession::Clock::time_point expiry(const OpenSession& session) const;
  /// Removes and returns the session whose client has been absent longest; null when none exceeds the minimum lease.
  [[nodiscard]] std::shared_ptr<OpenSession> evict_locked();
  /// Closes idle sessions; returns the time at which the next session may expire.
  OpenSession::Clock::time_point expire();
  void watch_idle();

  ServiceLimits limits_;
  std::function<void(std::size_t)> on_size_;
  mutable std::shared_mutex mutex_;  ///< guards sessions_ and reserved_
  Sessions sessions_;
  std::size_t reserved_ = 0;
  std::uint64_t n_opened_ = 0;
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread idle_watch_;
};

}  // namespace heelstrike::fem
