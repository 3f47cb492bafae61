// heelstrike watch: where a run stands, read from its folder while it is written.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "client/runs/live_view.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"

namespace heelstrike::client {
namespace {

struct WatchOptions {
  std::filesystem::path folder;
  bool once = false;
};

constexpr std::chrono::milliseconds redraw_distance{250};

ExitCode watch(const WatchOptions& options, const std::stop_token& stop) {
  LiveView view(options.folder);
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  std::size_t n_lines = 0;
  while (true) {
    view.read();
    const std::string text = view.text();
    if (terminal && n_lines > 0) fmt::print("\033[{}A\033[J", n_lines);
    if (terminal || options.once || view.over()) fmt::print("{}", text);
    std::fflush(stdout);
    n_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (options.once || view.over() || stop.stop_requested()) break;
    std::this_thread::sleep_for(redraw_distance);
  }
  return stop.stop_requested() ? ExitCode::interrupted : ExitCode::ok;
}

}  // namespace

void add_watch(CLI::App& program, Invocation& invocation) {
  auto* command = program.add_subcommand("watch", "Show where a run stands while it goes, from its run folder");
  const auto options = std::make_shared<WatchOptions>();
  command->add_option("folder", options->folder, "Run folder")->required()->type_name("FOLDER");
  command->add_flag("--once", options->once, "Print the state now and end");
  add_footer(*command,
             "  heelstrike watch runs/bouncing_ball-flores\n\nOnly reads files, so it cannot disturb the run.");
  command->callback([&invocation, options] {
    invocation.action = [options](std::stop_token stop) { return watch(*options, stop); };
  });
}

}  // namespace heelstrike::client
