/// A subcommand is one file with a function NAME_command() and one line in registry.cpp: parser, help, manual and
/// docs/reference/cli.md follow from its descriptor.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "library/terminal/exit_codes.hpp"

namespace CLI {
class App;
}

namespace heelstrike::client {

/// Executes the command with the parsed options. May throw Error.
/// @param json  results and errors as JSON on stdout
using Action = std::function<ExitCode(bool json, const std::stop_token& stop)>;

struct Subcommand {
  std::string name;
  std::string summary;
  std::string examples;  ///< at the end of its help, with remarks
  /// Declares the options. @param as_json  variable of the option --json, where the command has one
  Action (*add)(CLI::App& command, bool& as_json);
};

/// In the order of the help.
[[nodiscard]] std::span<const Subcommand> subcommands();

}  // namespace heelstrike::client
