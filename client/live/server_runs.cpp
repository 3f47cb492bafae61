#include "client/live/server_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "library/runs/event_reader.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike::client {
namespace {

constexpr std::size_t max_followed = 16;      // each followed run has a thread and a stream
constexpr std::size_t max_auto_followed = 4;  // a page initially shows three
constexpr std::size_t max_listed = 100;
constexpr std::chrono::seconds follow_timeout{30};
constexpr std::chrono::seconds reconnect_distance{1};

void sleep_until_stopped(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  (void)wake.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace

ServerRuns::ServerRuns(const rpc::Endpoint& endpoint)
    : peer_("mbs_server at " + endpoint.address), client_(endpoint, peer_) {}

std::vector<LiveRunEntry> ServerRuns::list() {
  std::vector<LiveRunEntry> entries;
  for (const v1::RunStatus& status : client_.list()) {
    LiveRunEntry entry{.id = status.run_id(), .label = status.run_id(), .state = {}};
    entry.state.state = status.state();
    entry.state.progress = wire::from_proto(status.progress(), wire::FieldPath("progress"));
    const Progress& p = entry.state.progress;
    if (p.wall_time > 0.0) entry.state.pace = p.time / p.wall_time;
    if (!entry.state.over() && entry.state.pace > 0.0)
      entry.state.remaining = std::max(0.0, p.end_time - p.time) / entry.state.pace;
    entries.push_back(std::move(entry));
  }
  {
    // A client deletes its run on the server after fetching the results; a followed run stays in the list until its
    // observers have seen its end.
    const std::scoped_lock lock(mutex_);
    stop_unwatched_locked();
    follow_new_runs_locked(entries);
    for (const auto& [id, followed] : followed_) {
      if (std::ranges::find(entries, id, &LiveRunEntry::id) == entries.end())
        entries.push_back({id, id, followed.run->state()});
    }
  }
  std::ranges::sort(entries, {}, &LiveRunEntry::id);
  // Run identifiers increase with time: reversed order lists the latest first.
  std::ranges::reverse(entries);
  std::ranges::stable_partition(entries, [](const LiveRunEntry& e) { return !e.state.over(); });
  if (entries.size() > max_listed) entries.resize(max_listed);
  return entries;
}

std::shared_ptr<LiveRun> ServerRuns::find(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  stop_unwatched_locked();
  if (const auto known = followed_.find(id); known != followed_.end()) {
    known->second.last_request = std::chrono::steady_clock::now();
    return known->second.run;
  }
  if (followed_.size() >= max_followed) {
    throw Error(ErrorCode::limit, fmt::format("at most {} runs can be watched at a time", max_followed), "runs", true);
  }
  const auto runs = client_.list();
  if (std::ranges::find(runs, id, &v1::RunStatus::run_id) == runs.end()) {
    throw not_found_error(fmt::format("{} has no run '{}'", peer_, id));
  }
  return start_following_locked(id);
}

std::shared_ptr<LiveRun> ServerRuns::start_following_locked(const std::string& id) {
  const auto run = std::make_shared<LiveRun>();
  followed_.emplace(
      id, FollowedRun{run, std::chrono::steady_clock::now(),
                      std::jthread([this, id, run](const std::stop_token& stop) { follow(id, *run, stop); })});
  return run;
}

void ServerRuns::follow_new_runs_locked(const std::vector<LiveRunEntry>& listed) {
  std::set<std::string> now;
  for (const LiveRunEntry& entry : listed) {
    now.insert(entry.id);
    if (entry.state.over() || listed_.contains(entry.id) || followed_.contains(entry.id)) continue;
    if (followed_.size() < max_auto_followed) start_following_locked(entry.id);
  }
  listed_ = std::move(now);
}

void ServerRuns::stop_unwatched_locked() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(followed_, [&](const auto& entry) { return now - entry.second.last_request > follow_timeout; });
}

void ServerRuns::follow(const std::string& id, LiveRun& run, const std::stop_token& stop) {
  EventReader reader(run);
  while (!stop.stop_requested() && !reader.summary()) {
    try {
      client_.follow(
          id, reader.last_sequence(), [&](const v1::RunEvent& event) { reader.read(event); }, stop);
      if (reader.summary() || stop.stop_requested()) break;
      run.finish("interrupted", "the server ended before the run did");
      return;
    } catch (const Error& error) {
      const bool unavailable = error.code() == ErrorCode::unavailable;
      if (reader.failed() || !unavailable || !error.retryable()) {
        run.finish(unavailable ? "interrupted" : "failed", error.what());
        return;
      }
      run.set_note(error.what());
      sleep_until_stopped(stop, reconnect_distance);
    }
  }
  if (!reader.summary()) return;
  run.finish(reader.summary()->status, reader.summary()->error ? reader.summary()->error->what() : "");
}

void ServerRuns::cancel(const std::string& id) {
  client_.cancel(id);
}

}  // namespace heelstrike::client
