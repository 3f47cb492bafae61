// heelstrike run: runs one scenario into one run folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <system_error>

#include "client/subcommands/options.hpp"
#include "client/subcommands/run_to_folder.hpp"
#include "client/subcommands/subcommand.hpp"
#include "library/composition/embedded.hpp"
#include "library/runs/execute.hpp"
#include "library/terminal/screen.hpp"
#include "report/tables.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  fs::path scenario;
  fs::path output;
  bool force = false;
  bool quiet = false;
  std::vector<std::string> tables;
  Overrides overrides;
  ConnectionOptions connection;
};

/// Removes the new folder of a run that failed to start because of an error in its input, so that the corrected command
/// can be repeated.
class NewFolderGuard {
 public:
  explicit NewFolderGuard(fs::path path) : path_(std::move(path)), is_new_(!fs::exists(path_)) {}
  ~NewFolderGuard() {
    std::error_code ignored;
    if (is_new_ && !kept_ && !fs::exists(path_ / "timeseries.csv", ignored)) fs::remove_all(path_, ignored);
  }
  NewFolderGuard(const NewFolderGuard&) = delete;
  NewFolderGuard& operator=(const NewFolderGuard&) = delete;
  void keep_folder() { kept_ = true; }

 private:
  fs::path path_;
  bool is_new_;
  bool kept_ = false;
};

ExitCode run(const RunOptions& options, bool json, std::stop_token stop) {
  const BackendSchemas schemas = schemas_of(known_backends(options.connection.servers));
  const RunRequest request = load_request(options.scenario, options.overrides, schemas, stop);
  (void)find_pair_warnings(request);  // the preparation reports the warnings
  // A named server checks the submission itself: the FMUs are for its machine.
  if (options.connection.servers.mbs.empty()) check_fmus(request, stop);
  for (const std::string& note : request.notes) print_message("note", note);
  const fs::path path = options.output.empty() ? default_folder(request) : options.output;
  NewFolderGuard fresh(path);  // before the folder exists
  RunFolder folder(path, request.yaml, options.force,
                   {.scenario = fs::absolute(options.scenario), .files = file_digests(request)}, report::table_files());
  try {
    const ExitCode code = run_to_folder(request, folder, options.connection,
                                        {.quiet = options.quiet, .json = json, .tables = options.tables}, stop);
    fresh.keep_folder();
    return code;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::file) fresh.keep_folder();  // a full disk: the run can be resumed
    throw;
  }
}

Action add_run(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<RunOptions>();
  add_scenario_argument(command, options->scenario);
  command.add_option("-o,--output", options->output, "Run folder to create; default runs/SCENARIO-BACKEND[-N]")
      ->type_name("FOLDER");
  command.add_flag("--force", options->force, "Overwrite the run in an existing folder");
  add_override_options(command, options->overrides);
  command.add_flag("--quiet", options->quiet, "No progress and no summary, only errors");
  command.add_flag("--json", as_json, "Print the summary as JSON");
  add_table_options(command, options->tables);
  add_exit_with_parent(command);
  add_connection_options(command, options->connection);
  return [options](bool json, const std::stop_token& stop) { return run(*options, json, stop); };
}

}  // namespace

Subcommand run_command() {
  return {
      .name = "run",
      .summary = "Run a scenario and write a run folder",
      .examples =
          "  heelstrike run examples/bouncing_ball.yaml\n"
          "  heelstrike run examples/bouncing_ball.yaml --backend hunt_crossley --set contact.restitution=0.6 -o out",
      .add = add_run};
}

}  // namespace heelstrike::client
