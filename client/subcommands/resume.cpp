// heelstrike resume: continues an interrupted run in its folder, from its last checkpoint.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <system_error>

#include "client/subcommands/options.hpp"
#include "client/subcommands/run_to_folder.hpp"
#include "client/subcommands/stored_command.hpp"
#include "client/subcommands/subcommand.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/file_kind.hpp"
#include "library/terminal/screen.hpp"
#include "report/write_report.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct ResumeOptions {
  fs::path folder;
  fs::path inputs;
  bool quiet = false;
  std::vector<std::string> tables;
  ConnectionOptions connection;
};

/// The client ended after the run was complete and before its page was written.
bool is_report_missing(const fs::path& run) {
  std::error_code ignored;
  return fs::exists(run / "summary.json", ignored) && incomplete_reason(run).empty() &&
         !fs::exists(run / "report.html", ignored);
}

ExitCode resume(const ResumeOptions& options, bool json, const std::stop_token& stop) {
  require_run_folder(options.folder);
  // Only folders of sweeps and comparisons have a stored command.
  if (has_command(options.folder)) repeat_command(options.folder);
  if (is_report_missing(options.folder)) {
    (void)report::write_report(options.folder, scenario_catalog());
    print_message("note", fmt::format("{} is complete; its missing page was written", options.folder.string()));
    return ExitCode::ok;
  }
  RunFolder folder = RunFolder::resume(options.folder);
  const BackendSchemas schemas = schemas_of(known_backends(options.connection.servers));
  const fs::path inputs = options.inputs.empty() ? folder.origin().scenario.parent_path() : options.inputs;
  RunRequest request = reload_request(folder.path() / "scenario.yaml", folder.origin().scenario, inputs, schemas, stop);
  // Changed files would make the rows before and after the checkpoint inconsistent.
  check_unchanged(request, folder.origin().files);
  request.resume_from = folder.checkpoint();
  for (const std::string& note : folder.notes()) print_message("warning", note);
  for (const std::string& note : request.notes) print_message("note", note);
  return run_to_folder(request, folder, options.connection,
                       {.quiet = options.quiet, .json = json, .tables = options.tables}, stop);
}

Action add_resume(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ResumeOptions>();
  command.add_option("run", options->folder, "Run folder, marked INCOMPLETE, or the folder of a sweep or comparison")
      ->type_name("RUN")
      ->required();
  command
      .add_option("--inputs", options->inputs,
                  "Folder of the files that the scenario names; default: their original folder")
      ->type_name("FOLDER");
  command.add_flag("--quiet", options->quiet, "No progress and no summary, only errors");
  command.add_flag("--json", as_json, "Print the summary as JSON");
  add_table_options(command, options->tables);
  add_exit_with_parent(command);
  add_connection_options(command, options->connection);
  return [options](bool json, const std::stop_token& stop) { return resume(*options, json, stop); };
}

}  // namespace

Subcommand resume_command() {
  return {.name = "resume",
          .summary = "Continue an interrupted run, sweep or comparison",
          .examples =
              "  heelstrike run examples/gait_forward.yaml -o out    # the machine fails\n"
              "  heelstrike resume out\n\n"
              "A run continues from its last checkpoint; options that are not in its scenario (--mbs, "
              "--in-process, --hdf5) "
              "have to be repeated. A sweep or comparison repeats its command: finished runs are kept.",
          .add = add_resume};
}

}  // namespace heelstrike::client
