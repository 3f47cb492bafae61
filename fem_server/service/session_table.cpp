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

namespace heelstrike::fem {

namespace {

std::string fresh_id() {
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

OpenSession::OpenSession(std::string id, std::string run_id, std::unique_ptr<Session> session)
    : id_(std::move(id)),
      run_id_(std::move(run_id)),
      session_(std::move(session)),
      last_used_(Clock::now().time_since_epoch().count()) {}

void OpenSession::touch() {
  last_used_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

OpenSession::Clock::time_point OpenSession::last_used() const {
  return Clock::time_point(Clock::duration(last_used_.load(std::memory_order_relaxed)));
}

SessionTable::SessionTable(const ServiceLimits& limits, std::function<void(std::size_t)> on_size)
    : limits_(limits), on_size_(std::move(on_size)), idle_watch_([this] { watch_idle(); }) {}

SessionTable::~SessionTable() {
  {
    const std::lock_guard lock(stop_mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  idle_watch_.join();
}

SessionTable::Place::~Place() {
  const std::unique_lock lock(table_->mutex_);
  --table_->reserved_;
}

std::unique_ptr<SessionTable::Place> SessionTable::reserve() {
  if (limits_.max_memory_bytes != 0) {
    const std::size_t used = resident_bytes();
    if (used > limits_.max_memory_bytes) {
      throw limit_error("memory",
                        fmt::format("the server uses {} MiB of memory, its limit is {} MiB; close sessions or "
                                    "try again later",
                                    used >> 20, limits_.max_memory_bytes >> 20));
    }
  }
  const std::unique_lock lock(mutex_);
  if (sessions_.size() + reserved_ >= limits_.max_sessions) {
    throw limit_error("sessions", fmt::format("all {} sessions of the server are taken; close one, try again later or "
                                              "raise --max-sessions",
                                              limits_.max_sessions));
  }
  ++reserved_;
  return std::make_unique<Place>(*this);
}

std::shared_ptr<OpenSession> SessionTable::insert(std::unique_ptr<Place> place, std::string run_id,
                                                  std::unique_ptr<Session> session) {
  auto entry = std::make_shared<OpenSession>(fresh_id(), std::move(run_id), std::move(session));
  {
    const std::unique_lock lock(mutex_);
    sessions_.emplace(entry->id(), entry);
    on_size_(sessions_.size());
  }
  place.reset();
  return entry;
}

Error SessionTable::unknown(const std::string& id) const {
  return not_found_error(
      fmt::format(
          "session '{}' is not open here; it was closed, or it expired after {:g} s without a call, or the server "
          "has been restarted; open a new one",
          id.substr(0, 64), static_cast<double>(limits_.idle_timeout.count()) / 1000.0),
      "session_id");
}

std::shared_ptr<OpenSession> SessionTable::find(const std::string& id) {
  const std::shared_lock lock(mutex_);
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) throw unknown(id);
  it->second->touch();
  return it->second;
}

void SessionTable::close(const std::string& id) {
  std::shared_ptr<OpenSession> entry;  // freed after the lock: releasing a factorisation takes time
  {
    const std::unique_lock lock(mutex_);
    const auto it = sessions_.find(id);
    if (it == sessions_.end()) throw unknown(id);
    entry = std::move(it->second);
    sessions_.erase(it);
    on_size_(sessions_.size());
  }
  entry->open_.store(false, std::memory_order_release);
}

std::size_t SessionTable::size() const {
  const std::shared_lock lock(mutex_);
  return sessions_.size();
}

OpenSession::Clock::time_point SessionTable::expire() {
  const auto now = OpenSession::Clock::now();
  auto next = now + limits_.idle_timeout;
  std::vector<std::shared_ptr<OpenSession>> expired;
  {
    const std::unique_lock lock(mutex_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto expiry = it->second->last_used() + limits_.idle_timeout;
      if (it->second->users_.load() > 0) {
        ++it;
      } else if (expiry <= now) {
        it->second->open_.store(false, std::memory_order_release);
        expired.push_back(std::move(it->second));
        it = sessions_.erase(it);
      } else {
        next = std::min(next, expiry);
        ++it;
      }
    }
    if (!expired.empty()) on_size_(sessions_.size());
  }
  for (const auto& entry : expired) {
    spdlog::info("event=session_expired run={} session={} pair=\"{}\" idle_s={:g}", entry->run_id(), entry->id(),
                 entry->session().description().name, static_cast<double>(limits_.idle_timeout.count()) / 1000.0);
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
