// heelstrike verify: checks that the files of a run are unmodified.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/files/file_digests.hpp"
#include "common/results/run_folder.hpp"
#include "library/runs/file_kind.hpp"
#include "library/terminal/screen.hpp"
#include "report/tables.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

/// The folder itself, or the folders of the rows of a sweep or comparison.
std::vector<fs::path> runs_in(const fs::path& folder) {
  std::vector<fs::path> runs;
  std::error_code none;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none)) {
    std::error_code ignored;
    if (fs::exists(entry->path() / "scenario.yaml", ignored)) runs.push_back(entry->path());
  }
  std::ranges::sort(runs);
  std::error_code ignored;
  if (runs.empty() || fs::exists(folder / "scenario.yaml", ignored)) return {folder};
  return runs;
}

ExitCode verify(const std::vector<fs::path>& folders, bool quiet, bool json) {
  const std::vector<std::string> tables = report::table_files(true);
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  bool damaged = false;
  bool incomplete = false;
  for (const fs::path& folder : folders) require_run_folder(folder);
  for (const fs::path& folder : folders) {
    for (const fs::path& run : runs_in(folder)) {
      const FolderCheck check = check_run_folder(run, tables);
      const std::string reason = incomplete_reason(run);
      report.push_back({{"folder", run.string()},
                        {"files", check.n_files},
                        {"faults", check.faults},
                        {"notes", check.notes},
                        {"incomplete", reason}});
      for (const std::string& note : check.notes) print_message("note", fmt::format("{}/{}", run.string(), note));
      for (const std::string& fault : check.faults) print_message("error", fmt::format("{}/{}", run.string(), fault));
      if (!reason.empty()) print_message("warning", fmt::format("{} is not complete: {}", run.string(), reason));
      // All runs are examined, so that one message names everything that has to be repeated.
      damaged = damaged || !check.faults.empty();
      incomplete = incomplete || !reason.empty();
      if (quiet || json || !check.faults.empty()) continue;
      fmt::print("{}: {} files are unmodified\n", run.string(), check.n_files);
    }
  }
  if (json) fmt::print("{}\n", nlohmann::ordered_json{{"runs", report}}.dump(2));
  // A modified file outranks an incomplete run.
  if (damaged) return ExitCode::file;
  return incomplete ? ExitCode::incomplete : ExitCode::ok;
}

Action add_verify(CLI::App& command, bool& as_json) {
  const auto folders = std::make_shared<std::vector<fs::path>>();
  const auto quiet = std::make_shared<bool>(false);
  command.add_option("run", *folders, "Run folder, or folder of a comparison or sweep; several are checked one by one")
      ->type_name("RUN")
      ->required();
  command.add_flag("--quiet", *quiet, "Print errors only");
  command.add_flag("--json", as_json, "Print the result as JSON");
  return [folders, quiet](bool json, const std::stop_token& /*stop*/) { return verify(*folders, *quiet, json); };
}

}  // namespace

Subcommand verify_command() {
  return {
      .name = "verify",
      .summary = "Check that the files of a finished run are unmodified",
      .examples =
          "  heelstrike verify runs/bouncing_ball-flores\n\n"
          "Every file is compared with the SHA-256 in summary.json or timing.json, and these with their own. run.log\n"
          "is not a result and has none. A modified file is reported, and the exit code is 5.",
      .add = add_verify};
}

}  // namespace heelstrike::client
