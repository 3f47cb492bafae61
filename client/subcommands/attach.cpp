// heelstrike attach: collects a run that was submitted to a shared multibody server.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "client/subcommands/options.hpp"
#include "client/subcommands/run_to_folder.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "library/runs/execute.hpp"
#include "library/runs/remote_runner.hpp"
#include "library/terminal/screen.hpp"
#include "report/tables.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct AttachOptions {
  std::string run_id;
  fs::path output;
  bool force = false;
  bool quiet = false;
  bool cancel = false;
  ServerOptions servers;
};

/// The folder is an incomplete run of the same scenario, left by an earlier client of this run.
bool is_folder_of(const fs::path& path, const RunRequest& request) {
  std::error_code ignored;
  return fs::exists(path / "INCOMPLETE", ignored) && fs::exists(path / "scenario.yaml", ignored) &&
         read_whole_file(path / "scenario.yaml") == request.yaml;
}

/// The rows before the resumption of a resumed run exist only in the folder in which it was resumed.
RunFolder folder_for(const AttachOptions& options, RunRequest& request) {
  const fs::path path = options.output.empty() ? default_folder(request) : options.output;
  const bool is_same_run = is_folder_of(path, request);
  if (request.resume_from.empty()) {
    return {path,
            request.yaml,
            options.force || is_same_run,
            {.scenario = request.file_name, .files = file_digests(request)},
            report::table_files()};
  }
  if (!is_same_run) {
    throw input_error("output",
                      fmt::format("run {} was resumed, and the rows before that are in the folder in which it was "
                                  "resumed: expected that one, found {}; name it with -o",
                                  options.run_id, path.string()));
  }
  RunFolder folder = RunFolder::resume(path);
  if (folder.checkpoint().empty()) {
    throw file_error(path.string(), fmt::format("{}: expected the checkpoint that run {} was resumed from, found none",
                                                path.string(), options.run_id));
  }
  request.resume_from = folder.checkpoint();
  return folder;
}

ExitCode collect(const AttachOptions& options, bool json, const std::stop_token& stop) {
  RemoteRunner runner(options.servers, {});
  RunRequest request = runner.attach(options.run_id);
  parse_request(request, schemas_of(known_backends(options.servers)));
  RunFolder folder = folder_for(options, request);
  if (options.cancel) runner.cancel(options.run_id);
  return run_to_folder(runner, request, folder, {.quiet = options.quiet, .json = json}, stop);
}

ExitCode attach(const AttachOptions& options, bool json, const std::stop_token& stop) {
  try {
    return collect(options, json, stop);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || !stop.stop_requested()) throw;
    const std::string output = options.output.empty() ? "" : " -o " + options.output.string();
    const std::string again =
        fmt::format("heelstrike attach {} --mbs {}{}", options.run_id, options.servers.mbs, output);
    print_message("note", fmt::format("{}; {} collects it, {} --cancel stops it", error.what(), again, again));
    return ExitCode::interrupted;
  }
}

Action add_attach(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<AttachOptions>();
  command.add_option("run_id", options->run_id, "Identifier of the run: in run.log, and listed by heelstrike watch")
      ->type_name("RUN_ID")
      ->required();
  command
      .add_option("-o,--output", options->output,
                  "Run folder to create, or the existing folder of an earlier client of this run; default "
                  "runs/SCENARIO-BACKEND[-N]")
      ->type_name("FOLDER");
  command.add_flag("--force", options->force, "Overwrite the run in an existing folder");
  command.add_flag("--quiet", options->quiet, "No progress and no summary, only errors");
  command.add_flag("--json", as_json, "Print the summary as JSON");
  command.add_flag("--cancel", options->cancel, "Stop the run on the server, then collect its results");
  add_server_options(command, options->servers);
  command.get_option("--mbs")->required();
  return [options](bool json, const std::stop_token& stop) { return attach(*options, json, stop); };
}

}  // namespace

Subcommand attach_command() {
  return {.name = "attach",
          .summary = "Collect a current or completed run of a shared mbs_server",
          .examples =
              "  heelstrike run examples/bouncing_ball.yaml --mbs lab:50052 -o out\n"
              "  heelstrike attach run-17c0a3f2b5d4e691 --mbs lab:50052 -o out\n\n"
              "For a run whose first client has ended. The folder equals, byte for byte, the one that it would have "
              "written. "
              "Ctrl-C detaches: "
              "the run goes on, and the same command collects it later.",
          .add = add_attach};
}

}  // namespace heelstrike::client
