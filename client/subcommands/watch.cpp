// heelstrike watch: shows the state of runs, from their folders during writing or from a multibody server.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>

#include "client/live/server_runs.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "report/live/folder_runs.hpp"
#include "report/live/live_page.hpp"

namespace heelstrike::client {
namespace {

struct WatchOptions {
  std::vector<std::string> what;
  rpc::ClientTls tls;
  std::string run;
  bool once = false;
  bool web = false;
  LivePageOptions page;
};

constexpr std::chrono::milliseconds redraw_distance{250};
constexpr std::size_t max_shown = 8;

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

/// Waits, but returns early on a stop request.
void pause(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  (void)wake.wait_for(lock, stop, time, [] { return false; });
}

struct Picture {
  std::string text;
  bool over = true;  ///< true when all shown runs have ended
};

/// The selected run, or the current runs, or, if none is running, the latest ones.
Picture picture_of(LiveRuns& runs, const std::string& wanted) {
  Picture picture;
  std::size_t n_shown = 0;
  for (const LiveRunEntry& entry : runs.list()) {
    if (!wanted.empty() && entry.id != wanted) continue;
    if (n_shown++ == max_shown) break;
    // Runs that have ended are not fetched again unless they are selected.
    const bool follow = !entry.state.over() || !wanted.empty() || !runs.can_cancel();
    if (follow) {
      const auto run = runs.find(entry.id);
      picture.over = picture.over && run->state().over();
      picture.text += run->text(entry.label);
    } else {
      picture.text +=
          fmt::format("{}: {} at t = {:.6g} s\n", entry.label, entry.state.state, entry.state.progress.time);
    }
  }
  if (n_shown == 0) {
    if (!wanted.empty()) throw not_found_error(fmt::format("{} has no run '{}'", runs.source(), wanted));
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
