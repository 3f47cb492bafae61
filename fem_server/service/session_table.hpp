/// The open sessions of a server: found by id, limited in number, closed when idle.
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

#include "rpc/server/client_identity.hpp"
#include "fem_server/service/limits.hpp"
#include "fem_server/sessions/session.hpp"

namespace heelstrike::fem {

/// A session with what the service has to know about it.
class OpenSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// @param owner  rpc::ClientIdentity::owner of who opened it
  OpenSession(std::string id, std::string run_id, std::string owner, std::unique_ptr<Session> session);

  /// Who has it may use the session: it stands in no log and no message.
  [[nodiscard]] const std::string& id() const { return id_; }
  /// For logs: tells sessions apart and opens nothing.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  [[nodiscard]] Session& session() { return *session_; }
  /// False once it has been closed or has expired.
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }

  /// Held during a call: a session at work is not idle, however long the work takes.
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

  /// Held by a stream: the session's client is there, even when it has nothing to ask.
  class StreamReference {
   public:
    explicit StreamReference(std::shared_ptr<OpenSession> session) : session_(std::move(session)) { ++session_->n_streams_; }
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

/// Thread-safe. A session that belongs to another client is one that there is not.
class SessionTable {
 public:
  /// @param on_session_count  told the number of open sessions after every change; quick, called from any thread
  SessionTable(const ServiceLimits& limits, std::function<void(std::size_t)> on_session_count);
  ~SessionTable();

  /// A place among `max_sessions`, held while a session is prepared.
  class Slot {
   public:
    explicit Place(SessionTable& table) : table_(&table) {}
    ~Slot();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    SessionTable* table_;
  };
  /// @throws Error{limit} when all places are taken or the process uses too much memory
  [[nodiscard]] std::unique_ptr<Place> reserve();

  /// Turns a place into an open session with a fresh, unguessable id.
  std::shared_ptr<OpenSession> insert(std::unique_ptr<Place> place, std::string run_id, std::string owner,
                                      std::unique_ptr<Session> session);

  using Client = rpc::ClientIdentity;
  /// Finds and touches. @throws Error{not_found} for an unknown, closed or expired session
  [[nodiscard]] std::shared_ptr<OpenSession> find(const std::string& id, const Client& client);

  /// Time since the last call of a session ended, zero during one. Does not count as a call. @throws Error{not_found}
  [[nodiscard]] OpenSession::Clock::duration idle(const std::string& id, const Client& client);

  /// @throws Error{not_found}
  void close(const std::string& id, const Client& client);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::chrono::milliseconds idle_timeout() const { return limits_.idle_timeout; }

 private:
  using Sessions = std::unordered_map<std::string, std::shared_ptr<OpenSession>>;
  [[nodiscard]] Error unknown() const;
  [[nodiscard]] Sessions::iterator find_locked(const std::string& id, const Client& client);
  /// When `session` will be closed, should nobody come; never while somebody works with it.
  [[nodiscard]] OpenSession::Clock::time_point expiry(const OpenSession& session) const;
  /// The session whose client has been gone longest, removed from the table; null when none has been for long enough.
  [[nodiscard]] std::shared_ptr<OpenSession> evict_locked();
  /// Closes what is idle; returns when the next session may become so.
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
