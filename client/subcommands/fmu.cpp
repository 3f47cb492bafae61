// heelstrike fmu: exports a scenario as a functional mock-up unit.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/process/loaded_module.hpp"
#include "library/composition/embedded.hpp"
#include "library/fmu/fmu_export.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct FmuOptions {
  fs::path scenario;
  Overrides overrides;
  fmu::FmuExportOptions kind;
  fs::path file;
};

/// Folder of the FMU binaries, relative to that of the programs, as built or as installed.
fs::path fmu_parts() {
  const fs::path prefix = module_folder().parent_path();
  const fs::path installed = prefix / HEELSTRIKE_LIBDIR / "heelstrike";
  for (const fs::path& folder : {installed, prefix / "lib"}) {
    if (::access((folder / fmu::fmu_binary_file).c_str(), R_OK) == 0) return folder;
  }
  throw file_error(installed.string(), "the binaries for FMUs are missing; install heelstrike again");
}

ExitCode make_fmu(const FmuOptions& options, bool as_json, const std::stop_token& stop) {
  const RunRequest request = load_request(options.scenario, options.overrides, schemas_of(embedded_backends()), stop);
  // An FMU of a contact alone is without the analysis.
  if (options.kind.pair.empty()) require_steppable(request, stop);
  (void)find_pair_warnings(request);
  const fs::path file = options.file.empty() ? options.scenario.filename().replace_extension(".fmu") : options.file;
  {
    ProgressDisplay display(run_name(request.scenario, ' '), as_json);
    fmu::export_fmu(request, options.kind, fmu_parts(), file, [&](std::string_view stage, double fraction) {
      if (stage.starts_with(warning_mark) || stage.starts_with(note_mark)) return;
      display.show({.stage = std::string(stage), .fraction = fraction});
    });
  }
  fmt::print("{}: {:.1f} MB\n", printable(file.string()), 1e-6 * static_cast<double>(fs::file_size(file)));
  return ExitCode::ok;
}

Action add_fmu(CLI::App& command, bool& /*as_json*/) {
  const auto options = std::make_shared<FmuOptions>();
  add_scenario_argument(command, options->scenario);
  command.add_option("-o,--output", options->file, "The FMU (default: SCENARIO.fmu in this folder)")->type_name("FILE");
  command
      .add_option("--contact", options->kind.pair,
                  "An FMU of this contact pair only: relative motion in, wrench and its derivatives out")
      ->type_name("PAIR");
  command.add_flag("--model-exchange", options->kind.model_exchange,
                   "Model exchange: equations of motion of free bodies; default: co-simulation");
  command.add_option("--fmi", options->kind.version, "Version of the standard (default 3)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, fmu::FmiVersion>{{"2", fmu::FmiVersion::v2}, {"3", fmu::FmiVersion::v3}}))
      ->type_name("VERSION");
  add_override_options(command, options->overrides);
  return [options](bool json, const std::stop_token& stop) { return make_fmu(*options, json, stop); };
}

}  // namespace

Subcommand fmu_command() {
  return {.name = "fmu",
          .summary = "Export a scenario or a contact as a functional mock-up unit (FMI 3.0 or 2.0)",
          .examples =
              "  heelstrike fmu examples/bouncing_ball.yaml\n"
              "  heelstrike fmu examples/foot_drop.yaml --fmi 2 -o foot.fmu\n"
              "  heelstrike fmu examples/bouncing_ball.yaml --model-exchange -o equations.fmu\n"
              "  heelstrike fmu examples/foot_press.yaml --contact sole-plate -o contact.fmu",
          .add = add_fmu};
}

}  // namespace heelstrike::client
