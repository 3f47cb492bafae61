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

#include "fem_server/service/limits.hpp"
#include "fem_server/sessions/session.hpp"

namespace heelstrike::fem {

/// A session with what the service has to know about it.
class OpenSession {
 public:
  using Clock = std::chrono::steady_clock;

  OpenSession(std::string id, std::string run_id, std::unique_ptr<Session> session);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  [[nodiscard]] Session& session() { return *session_; }
  /// False once it has been closed or has expired.
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }

  /// Held during a call: a session at work is not idle, however long the work takes.
  class Use {
   public:
    explicit Use(OpenSession& session) : session_(session) { ++session_.users_; }
    ~Use() {
      session_.touch();
      --session_.users_;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    OpenSession& session_;
  };

  void touch();
  [[nodiscard]] Clock::time_point last_used() const;

 private:
  friend class Use;
  friend class SessionTable;
  std::string id_;
  std::string run_id_;
  std::unique_ptr<Session> session_;
  std::atomic<bool> open_{true};
  std::atomic<int> users_{0};
  std::atomic<Clock::rep> last_used_;
};

/// Thread-safe.
class SessionTable {
 public:
  /// @param on_size  told the number of open sessions after every change; quick, called from any thread
  SessionTable(const ServiceLimits& limits, std::function<void(std::size_t)> on_size);
  ~SessionTable();

  /// A place among `max_sessions`, held while a session is prepared.
  class Place {
   public:
    explicit Place(SessionTable& table) : table_(&table) {}
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    SessionTable* table_;
  };
  /// @throws Error{limit} when all places are taken or the process uses too much memory
  [[nodiscard]] std::unique_ptr<Place> reserve();

  /// Turns a place into an open session with a fresh, unguessable id.
  std::shared_ptr<OpenSession> insert(std::unique_ptr<Place> place, std::string run_id,
                                      std::unique_ptr<Session> session);

  /// Finds and touches. @throws Error{not_found} for an unknown, closed or expired session
  [[nodiscard]] std::shared_ptr<OpenSession> find(const std::string& id);

  /// @throws Error{not_found}
  void close(const std::string& id);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::chrono::milliseconds idle_timeout() const { return limits_.idle_timeout; }

 private:
  [[nodiscard]] Error unknown(const std::string& id) const;
  /// Closes what is idle; returns when the next session may become so.
  OpenSession::Clock::time_point expire();
  void watch_idle();

  ServiceLimits limits_;
  std::function<void(std::size_t)> on_size_;
  mutable std::shared_mutex mutex_;  ///< guards sessions_ and reserved_
  std::unordered_map<std::string, std::shared_ptr<OpenSession>> sessions_;
  std::size_t reserved_ = 0;
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread idle_watch_;
};

}  // namespace heelstrike::fem
