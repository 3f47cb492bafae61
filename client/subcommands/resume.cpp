// heelstrike resume: a run that was cut off goes on in its folder, from its last checkpoint.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/subcommands/options.hpp"
#include "client/subcommands/run_to_folder.hpp"
#include "client/subcommands/subcommand.hpp"
#include "client/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct ResumeOptions {
  fs::path folder;
  fs::path inputs;
  bool quiet = false;
  ConnectionOptions connection;
};

ExitCode resume(const ResumeOptions& options, bool json, const std::stop_token& stop) {
  RunFolder folder = RunFolder::resume(options.folder);
  const BackendSchemas schemas = schemas_of(known_backends(options.connection.servers));
  const fs::path inputs = options.inputs.empty() ? folder.origin().parent_path() : options.inputs;
  RunRequest request = load_request_again(folder.path() / "scenario.yaml", folder.origin(), inputs, schemas, stop);
  request.resume_from = folder.checkpoint();
  for (const std::string& note : request.notes) tell_user("note", note);
  return run_to_folder(request, folder, options.connection, {.quiet = options.quiet, .json = json}, stop);
}

}  // namespace

void add_resume(CLI::App& program, Invocation& invocation) {
  auto* command = program.add_subcommand("resume", "Go on with a run that was cut off, from its last checkpoint");
  const auto options = std::make_shared<ResumeOptions>();
  command->add_option("run", options->folder, "Run folder, marked INCOMPLETE")->type_name("RUN")->required();
  command
      ->add_option("--inputs", options->inputs, "Folder of the files that the scenario names; default where they were")
      ->type_name("FOLDER");
  command->add_flag("--quiet", options->quiet, "No progress and no summary, only errors");
  command->add_flag("--json", invocation.json, "Print the summary as JSON");
  add_connection_options(*command, options->connection);
  add_footer(
      *command,
      "  heelstrike run examples/gait_forward.yaml --set output.checkpoint_interval=0.1 -o out    # the machine dies\n"
      "  heelstrike resume out");
  command->callback([&invocation, options] {
    invocation.action = [&invocation, options](std::stop_token stop) {
      return resume(*options, invocation.json, stop);
    };
  });
}

}  // namespace heelstrike::client
