// heelstrike watch: shows the state of runs, from their folders during writing or from a multibody server.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "library/runs/event_reader.hpp"
#include "library/runs/simulation_client.hpp"
#include "report/live/folder_runs.hpp"
#include "report/live/live_page.hpp"
#include "report/live/live_run.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike::client {
namespace {

/// A run is followed from the first request until no request has come for half a minute. A new run that is not over is
/// followed as soon as it is listed, because its client deletes it on the server at its end. The server sends events
/// from its spool at the rate of this reader, so observers never delay a run.
class ServerRuns final : public LiveRuns {
 public:
  /// @throws Error{unavailable} when the address does not respond
  explicit ServerRuns(const rpc::Endpoint& endpoint);

  [[nodiscard]] std::string source() const override { return peer_; }
  [[nodiscard]] std::vector<LiveRunEntry> list() override;
  [[nodiscard]] std::shared_ptr<LiveRun> find(const std::string& id) override;
  [[nodiscard]] bool can_cancel() const override { return true; }
  void cancel(const std::string& id) override;

 private:
  struct FollowedRun {
    std::shared_ptr<LiveRun> run;
    std::chrono::steady_clock::time_point last_request;
    std::jthread thread;
  };
  void follow(const std::string& id, LiveRun& run, const std::stop_token& stop);
  std::shared_ptr<LiveRun> start_following_locked(const std::string& id);
  void follow_new_runs_locked(const std::vector<LiveRunEntry>& listed);
  void stop_unwatched_locked();

  std::string peer_;
  SimulationClient client_;
  std::mutex mutex_;  ///< guards the members below
  std::map<std::string, FollowedRun> followed_;
  std::set<std::string> listed_;  ///< runs of the last list: all others are new
};

constexpr std::size_t max_followed = 16;      // each followed run has a thread and a stream
constexpr std::size_t max_auto_followed = 4;  // a page initially shows three
constexpr std::size_t max_listed = 100;
constexpr std::chrono::seconds follow_timeout{30};
constexpr std::chrono::seconds reconnect_distance{1};

/// Waits, but returns early on a stop request.
void pause(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  (void)wake.wait_for(lock, stop, time, [] { return false; });
}

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
      pause(stop, reconnect_distance);
    }
  }
  if (!reader.summary()) return;
  run.finish(reader.summary()->status, reader.summary()->error ? reader.summary()->error->what() : "");
}

void ServerRuns::cancel(const std::string& id) {
  client_.cancel(id);
}

struct WatchOptions {
  std::vector<std::string> what;
  rpc::ClientTls tls;
  std::string run;
  bool once = false;
  bool web = false;
  LivePageOptions page;
};

constexpr std::chrono::milliseconds redraw_distance{250};
constexpr std::size_t max_displayed = 8;

/// HOST:PORT, with digits only after the last colon, or unix:/path.
bool is_address(const std::string& text) {
  if (text.starts_with("unix:")) return true;
  const auto colon = text.rfind(':');
  return colon != std::string::npos && colon > 0 && colon + 1 < text.size() &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

std::unique_ptr<LiveRuns> open_runs(const WatchOptions& options) {
  std::vector<std::filesystem::path> folders;
  for (const std::string& what : options.what) {
    // An existing folder takes precedence over an address of the same text.
    if (std::filesystem::exists(what) || !is_address(what)) {
      folders.emplace_back(what);
    } else if (options.what.size() > 1) {
      throw input_error(
          "what", fmt::format("expected run folders or one address, found '{}' among {}", what, options.what.size()));
    } else {
      return std::make_unique<ServerRuns>(rpc::Endpoint{.address = what, .tls = options.tls});
    }
  }
  return std::make_unique<FolderRuns>(folders);
}

struct Picture {
  std::string text;
  bool over = true;  ///< true when all shown runs have ended
};

/// The selected run, or the current runs, or, if none is running, the latest ones.
Picture picture_of(LiveRuns& runs, const std::string& requested) {
  Picture picture;
  std::size_t n_displayed = 0;
  for (const LiveRunEntry& entry : runs.list()) {
    if (!requested.empty() && entry.id != requested) continue;
    if (n_displayed++ == max_displayed) break;
    // Runs that have ended are not fetched again unless they are selected.
    const bool follow = !entry.state.over() || !requested.empty() || !runs.can_cancel();
    if (follow) {
      const auto run = runs.find(entry.id);
      picture.over = picture.over && run->state().over();
      picture.text += run->text(entry.label);
    } else {
      picture.text +=
          fmt::format("{}: {} at t = {:.6g} s\n", entry.label, entry.state.state, entry.state.progress.time);
    }
  }
  if (n_displayed == 0) {
    if (!requested.empty()) throw not_found_error(fmt::format("{} has no run '{}'", runs.source(), requested));
    picture.text = fmt::format("{}: no runs\n", runs.source());
  }
  return picture;
}

ExitCode watch_in_terminal(LiveRuns& runs, const WatchOptions& options, const std::stop_token& stop) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  std::ptrdiff_t n_lines = 0;
  // The state of a run on a server is available only after its first events have arrived.
  if (options.once && runs.can_cancel()) {
    (void)picture_of(runs, options.run);
    pause(stop, redraw_distance);
  }
  while (true) {
    const Picture picture = picture_of(runs, options.run);
    if (terminal && n_lines > 0) fmt::print("\033[{}A\033[J", n_lines);
    if (terminal || options.once || picture.over) fmt::print("{}", picture.text);
    std::fflush(stdout);
    n_lines = std::count(picture.text.begin(), picture.text.end(), '\n');
    if (options.once || picture.over || stop.stop_requested()) break;
    pause(stop, redraw_distance);
  }
  return stop.stop_requested() ? ExitCode::interrupted : ExitCode::ok;
}

ExitCode watch_in_browser(LiveRuns& runs, const WatchOptions& options, const std::stop_token& stop) {
  if (options.page.allow_stop && !runs.can_cancel()) {
    throw input_error("--allow-stop",
                      "--allow-stop: a run folder is read-only; name the address of its multibody server to stop "
                      "the run");
  }
  const LivePage page(runs, options.page);
  fmt::print("watching {} at {}\nCtrl-C closes the page, not the runs\n", runs.source(), page.url());
  std::fflush(stdout);
  while (!stop.stop_requested()) pause(stop, std::chrono::hours{1});
  return ExitCode::ok;
}

ExitCode watch(const WatchOptions& options, const std::stop_token& stop) {
  const auto runs = open_runs(options);
  return options.web ? watch_in_browser(*runs, options, stop) : watch_in_terminal(*runs, options, stop);
}

Action add_watch(CLI::App& command, bool& /*as_json*/) {
  const auto options = std::make_shared<WatchOptions>();
  command
      .add_option("what", options->what, "Run folders, or the address of a running mbs_server: host:port or unix:/path")
      ->required()
      ->type_name("RUN|ADDRESS");
  command.add_option("--run", options->run, "Show only this run of the server")->type_name("ID");
  auto* once = command.add_flag("--once", options->once, "Print the current state and exit");
  auto* web =
      command.add_flag("--web", options->web, "Serve a page to this machine (127.0.0.1) instead")->excludes(once);
  command.add_option("--port", options->page.port, "Port of the page; default: any free port")
      ->check(CLI::Range(1, 65535))
      ->needs(web);
  command
      .add_flag("--allow-stop", options->page.allow_stop, "Allow the page to stop runs; its address then has a token")
      ->needs(web);
  add_tls_options(command, options->tls, "Encryption");
  return [options](bool /*json*/, const std::stop_token& stop) { return watch(*options, stop); };
}

}  // namespace

Subcommand watch_command() {
  return {.name = "watch",
          .summary = "Show the progress of runs in the terminal or on a local page",
          .examples =
              "  heelstrike watch runs/bouncing_ball-flores\n"
              "  heelstrike watch 127.0.0.1:50061 --web --allow-stop\n\nWatching does not affect a run.",
          .add = add_watch};
}

}  // namespace heelstrike::client
