// heelstrike: the command line program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "client/subcommands/subcommand.hpp"
#include "common/command_line/command_line.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/errors/rejection.hpp"
#include "common/parameters/parameter.hpp"
#include "common/process/end_program.hpp"
#include "common/process/version.hpp"
#include "common/text/suggestion.hpp"
#include "library/runs/file_kind.hpp"
#include "library/terminal/exit_codes.hpp"
#include "library/terminal/screen.hpp"
#include "library/terminal/stop_signal.hpp"

namespace {

using namespace heelstrike;
using namespace heelstrike::client;

ExitCode fail(const Error& error, bool json) {
  const std::string message = strip_control_characters(error.what());
  print_message("error", message);
  if (json) {
    const nlohmann::ordered_json report = {
        {"error", {{"code", to_string(error.code())}, {"message", message}, {"field", printable(error.field())}}}};
    fmt::print("{}\n", report.dump(2));
  }
  return exit_code(error);
}

ExitCode act(const Action& action, bool json, StopSignal& stop) {
  try {
    return action(json, stop.token());
  } catch (const Error& error) {
    // An error after a stop request is a consequence of the stop.
    const ExitCode code = fail(error, json);
    return stop.requested() ? ExitCode::interrupted : code;
  } catch (const std::exception& defect) {
    return fail(untyped_error(defect, "defect of the program, please report it"), json);
  }
}

/// A word that other programs have for a command, and what to write instead.
struct OtherWord {
  std::string_view words;  ///< between blanks
  std::string_view advice;
};

constexpr std::array<OtherWord, 11> other_words = {{
    {" plot chart charts graph view show visualize visualise ",
     "heelstrike report FOLDER writes the page and charts of a run"},
    {" continue restart ", "heelstrike resume FOLDER continues a run, comparison or sweep"},
    {" export ", "heelstrike fmu exports a scenario as an FMU, heelstrike hdf5 the results of a run as one file"},
    {" convert c3d urdf mjcf ", "heelstrike import converts a model to a scenario, a C3D trial to motion files"},
    {" osim opensim ", "heelstrike import-osim converts an OpenSim model to a scenario"},
    {" simulate start solve ", "heelstrike run runs a scenario"},
    {" check lint ", "heelstrike validate checks a scenario, heelstrike mesh a surface"},
    {" init create template ", "heelstrike new writes a scenario for your own surface, heelstrike example copies one"},
    {" fit identify optimize optimise ", "heelstrike calibrate identifies moduli and the registration of feet"},
    {" help ", "heelstrike --help lists the commands, heelstrike COMMAND --help the options of one"},
    {" completion completions ",
     "packages install the completion of bash and zsh; for a build see docs/guide/getting_started.md"},
}};

std::string_view advice_for(const std::string& word) {
  for (const OtherWord& other : other_words) {
    if (other.words.find(" " + word + " ") != std::string_view::npos) return other.advice;
  }
  return {};
}

/// A first word that is not a command: CLI11 reports only that a command is missing.
void check_subcommand(const std::string& given) {
  std::vector<std::string> names;
  for (const Subcommand& command : subcommands()) names.push_back(command.name);
  if (given.empty() || given[0] == '-' || std::find(names.begin(), names.end(), given) != names.end()) return;
  std::error_code ignored;
  if (std::filesystem::exists(given, ignored)) {
    if (const std::string other = description_if_no_scenario(given); !other.empty()) {
      throw input_error("command", fmt::format("expected a command, found {}", other));
    }
    throw input_error(
        "command", fmt::format("expected a command, found the file {}; did you mean heelstrike run {}?", given, given));
  }
  if (const std::string_view advice = advice_for(given); !advice.empty()) {
    throw input_error("command", fmt::format("unknown command '{}'; {}", given, advice));
  }
  throw input_error("command", unknown_name_message("command", given, names));
}

/// @returns the exit code of a command line that was not accepted, or whose help or version was printed
int end_of_parse(const CLI::App& program, const CLI::ParseError& error, bool is_empty) {
  if (error.get_exit_code() == 0) return program.exit(error);
  if (is_empty) {
    fmt::print(stderr, "{}", program.help());
    return to_int(ExitCode::bad_input);
  }
  return to_int(fail(input_error("command line", parse_error_message(program, error, program.get_name())), false));
}

int run_program(int argc, char** argv) {
  StopSignal stop;                // constructed before any other thread: it blocks the signals
  std::signal(SIGXFSZ, SIG_IGN);  // a file above the size limit is then an error of its write
  Action action;
  bool json = false;
  CLI::App program("Heelstrike: co-simulation of multibody systems with deformable contact.", "heelstrike");
  program.set_version_flag("--version", fmt::format("heelstrike {} (contract {})", program_version, contract_version));
  program.require_subcommand(1);
  set_help_format(program, screen_width(Stream::out));
  program.footer(
      "heelstrike COMMAND --help shows options and an example.\n"
      "Example: heelstrike run examples/bouncing_ball.yaml\n\n" +
      std::string(exit_code_help));
  for (const Subcommand& subcommand : subcommands()) {
    CLI::App& command = *program.add_subcommand(subcommand.name, subcommand.summary);
    command.footer("Examples:\n" + subcommand.examples + "\n\n" + std::string(exit_code_help));
    command.callback([&action, selected = subcommand.add(command, json)] { action = selected; });
  }
  try {
    check_subcommand(argc > 1 ? argv[1] : "");
    program.parse(argc, argv);
  } catch (const Error& error) {
    return to_int(fail(error, false));
  } catch (const CLI::ParseError& error) {
    return end_of_parse(program, error, argc < 2);
  }
  const ExitCode code = act(action, json, stop);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    print_message("error", "standard output cannot be written");
    return to_int(code == ExitCode::ok ? ExitCode::file : code);
  }
  return to_int(code);
}

}  // namespace

int main(int argc, char** argv) {
  heelstrike::end_program(run_program(argc, argv));
}
