#include "fem_server/service/session_table.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"

namespace heelstrike::fem {

namespace {

std::string make_session_id() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", entropy(), entropy(), entropy(), entropy());
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

OpenSession::OpenSession(std::string id, std::string run_id, std::string owner, std::unique_ptr<Session> session)
    : id_(std::move(id)),
      run_id_(std::move(run_id)),
      owner_(std::move(owner)),
      session_(std::move(session)),
      last_used_(Clock::now().time_since_epoch().count()) {}

void OpenSession::update_last_used() {
  last_used_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

OpenSession::Clock::time_point OpenSession::last_used() const {
  return Clock::time_point(Clock::duration(last_used_.load(std::memory_order_relaxed)));
}

SessionTable::SessionTable(const ServiceLimits& limits, std::function<void(std::size_t)> on_session_count)
    : limits_(limits), on_size_(std::move(on_session_count)), idle_watch_([this] { watch_idle(); }) {}

SessionTable::~SessionTable() {
  {
    const std::lock_guard lock(stop_mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  idle_watch_.join();
}

SessionTable::Slot::~Slot() {
  const std::unique_lock lock(table_->mutex_);
  --table_->reserved_;
}

std::unique_ptr<SessionTable::Slot> SessionTable::reserve() {
  if (limits_.max_memory_bytes != 0) {
    const std::size_t used = resident_bytes();
    if (used > limits_.max_memory_bytes) {
      throw limit_error("memory",
                        fmt::format("the server uses {} MiB of memory, the limit is {} MiB; close sessions or "
                                    "try again later",
                                    used >> 20, limits_.max_memory_bytes >> 20));
    }
  }
  std::shared_ptr<OpenSession> evicted;  // freed after the lock: releasing a factorisation takes time
  const std::unique_lock lock(mutex_);
  if (sessions_.size() + reserved_ >= limits_.max_sessions) evicted = evict_locked();
  if (sessions_.size() + reserved_ >= limits_.max_sessions) {
    throw limit_error("sessions", fmt::format("all {} sessions of the server are in use; close one, try again later or "
                                              "raise --max-sessions",
                                              limits_.max_sessions));
  }
  ++reserved_;
  return std::make_unique<Slot>(*this);
}

std::shared_ptr<OpenSession> SessionTable::insert(std::unique_ptr<Slot> slot, std::string run_id, std::string owner,
                                                  std::unique_ptr<Session> session) {
  auto entry =
      std::make_shared<OpenSession>(make_session_id(), std::move(run_id), std::move(owner), std::move(session));
  {
    const std::unique_lock lock(mutex_);
    entry->number_ = ++n_opened_;
    sessions_.emplace(entry->id(), entry);
    on_size_(sessions_.size());
  }
  slot.reset();
  return entry;
}

Error SessionTable::unknown() const {
  const auto seconds = [](std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000.0; };
  return not_found_error(
      fmt::format(
          "this session is not open on this server; it was closed, or it expired after {:g} s without a call ({:g} s "
          "after its client disconnected), or it belongs to another client, or the server has been restarted; open a "
          "new "
          "one",
          seconds(limits_.idle_timeout), seconds(limits_.lease)),
      "session_id");
}

SessionTable::Sessions::iterator SessionTable::find_locked(const std::string& id, const Client& client) {
  const auto it = sessions_.find(id);
  if (it == sessions_.end() || !rpc::has_access(it->second->owner_, client)) throw unknown();
  return it;
}

std::shared_ptr<OpenSession> SessionTable::find(const std::string& id, const Client& client) {
  const std::shared_lock lock(mutex_);
  const auto it = find_locked(id, client);
  it->second->update_last_used();
  return it->second;
}

OpenSession::Clock::duration SessionTable::idle(const std::string& id, const Client& client) {
  const std::shared_lock lock(mutex_);
  const OpenSession& session = *find_locked(id, client)->second;
  return session.in_use() ? OpenSession::Clock::duration::zero() : OpenSession::Clock::now() - session.last_used();
}

void SessionTable::close(const std::string& id, const Client& client) {
  std::shared_ptr<OpenSession> entry;  // freed after the lock: releasing a factorisation takes time
  {
    const std::unique_lock lock(mutex_);
    const auto it = find_locked(id, client);
    entry = std::move(it->second);
    sessions_.erase(it);
    on_size_(sessions_.size());
  }
  entry->open_.store(false, std::memory_order_release);
}

OpenSession::Clock::time_point SessionTable::expiry(const OpenSession& session) const {
  if (session.n_calls_.load() > 0) return OpenSession::Clock::time_point::max();
  const bool attached = session.n_streams_.load() > 0;
  return session.last_used() + (attached ? limits_.idle_timeout : std::min(limits_.lease, limits_.idle_timeout));
}

std::shared_ptr<OpenSession> SessionTable::evict_locked() {
  const auto eviction_time = OpenSession::Clock::now() - limits_.min_lease;
  auto oldest = sessions_.end();
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    const OpenSession& session = *it->second;
    if (session.n_calls_.load() > 0 || session.n_streams_.load() > 0 || session.last_used() > eviction_time) continue;
    if (oldest == sessions_.end() || session.last_used() < oldest->second->last_used()) oldest = it;
  }
  if (oldest == sessions_.end()) return nullptr;
  std::shared_ptr<OpenSession> evicted = std::move(oldest->second);
  sessions_.erase(oldest);
  evicted->open_.store(false, std::memory_order_release);
  on_size_(sessions_.size());
  spdlog::warn("event=session_gave_way run={} session={}", evicted->run_id(), evicted->number());
  return evicted;
}

std::size_t SessionTable::size() const {
  const std::shared_lock lock(mutex_);
  return sessions_.size();
}

OpenSession::Clock::time_point SessionTable::expire() {
  const auto now = OpenSession::Clock::now();
  // A stream may release its sessions at any time, which starts their lease.
  auto next = now + std::min(limits_.idle_timeout, limits_.lease);
  std::vector<std::shared_ptr<OpenSession>> expired;
  {
    const std::unique_lock lock(mutex_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto end = expiry(*it->second);
      if (end <= now) {
        it->second->open_.store(false, std::memory_order_release);
        expired.push_back(std::move(it->second));
        it = sessions_.erase(it);
      } else {
        next = std::min(next, end);
        ++it;
      }
    }
    if (!expired.empty()) on_size_(sessions_.size());
  }
  for (const auto& entry : expired) {
    const std::chrono::duration<double> idle = now - entry->last_used();
    spdlog::info("event=session_expired run={} session={} pair=\"{}\" idle_s={:.3g}", entry->run_id(), entry->number(),
                 one_line(entry->session().description().name, 64), idle.count());
  }
  return next;
}

void SessionTable::watch_idle() {
  std::unique_lock lock(stop_mutex_);
  while (!stop_) {
    lock.unlock();
    const auto next = expire();
    lock.lock();
    stop_signal_.wait_until(lock, next, [this] { return stop_; });
  }
}

}  // namespace heelstrike::fem
