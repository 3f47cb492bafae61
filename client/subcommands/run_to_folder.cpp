#include "client/subcommands/run_to_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/results/summary.hpp"
#include "library/composition/shapes.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/execute.hpp"
#include "library/terminal/screen.hpp"
#include "report/shapes.hpp"
#include "report/tables.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

/// A run that was stopped, or whose server ended, can continue.
bool can_go_on(const RunSummary& summary) {
  return summary.status == "cancelled" || (summary.error && summary.error->code() == ErrorCode::unavailable);
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code none;
  const fs::directory_iterator entries(folder / "checkpoints", none);
  return !none && std::any_of(begin(entries), end(entries),
                              [](const auto& entry) { return entry.path().extension() == ".ckpt"; });
}

void print_summary(const RunSummary& summary, const Scenario& scenario, const fs::path& folder,
                   const SummaryOptions& options) {
  if (options.json) {
    fmt::print("{}\n", summary_and_timing_json(summary));
  } else if (!options.quiet) {
    fmt::print("{}", summary_text(summary, scenario, folder));
  }
  if (summary.status == "completed") return;
  const bool has_end = summary.status == "incomplete";
  // The reason is printed last for a failed run, where scripts and users look for it.
  if (summary.error && !has_end) print_message("error", fmt::format("the run failed: {}", summary.error->what()));
  fmt::print(
      stderr, "heelstrike: the run folder {} is marked incomplete; it contains {}\n", folder.string(),
      has_end ? "every frame that has a solution" : fmt::format("everything up to t = {:g} s", summary.simulated_time));
  if (can_go_on(summary)) {
    print_message("note", fmt::format("heelstrike resume {} continues it from its {}", folder.string(),
                                      has_checkpoint(folder) ? "last checkpoint" : "beginning"));
  }
  if (summary.error && has_end) print_message("error", fmt::format("incomplete: {}", summary.error->what()));
}

}  // namespace

ExitCode run_to_folder(const RunRequest& request, RunFolder& folder, const ConnectionOptions& connection,
                       const SummaryOptions& summary_options, const std::stop_token& stop) {
  const auto runner = make_runner(connection, fs::absolute(folder.path() / "run.log"));
  return run_to_folder(*runner, request, folder, summary_options, stop);
}

ExitCode run_to_folder(Runner& runner, const RunRequest& request, RunFolder& folder,
                       const SummaryOptions& summary_options, const std::stop_token& stop) {
  const fs::path& path = folder.path();
  report::write_shapes(folder, body_shapes(request.scenario, request.files, report::max_displayed_triangles));
  const RunSummary summary = execute(runner, request, folder, summary_options.quiet || summary_options.json, stop);
  // During a run, and while it is resumable, rows are text, which survives the end of the process row by row.
  const bool is_complete = summary.status == "completed";
  report::write_results(path, is_complete ? summary_options.tables : std::vector<std::string>(), scenario_catalog());
  print_summary(summary, request.scenario, path, summary_options);
  if (stop.stop_requested() && summary.status != "completed") return ExitCode::interrupted;
  return exit_code(summary);
}

}  // namespace heelstrike::client
