/// A subcommand is one file that defines an `add_...` function, and one line in registry.cpp.
#pragma once

#include <functional>
#include <span>
#include <stop_token>

#include "library/terminal/exit_codes.hpp"

namespace CLI {
class App;
}

namespace heelstrike::client {

/// Result of parsing the command line.
struct Invocation {
  /// Set by the selected subcommand. May throw Error.
  std::function<ExitCode(std::stop_token)> action;
  bool json = false;  ///< results and errors as JSON on stdout
};

using AddSubcommand = void (*)(CLI::App& program, Invocation& invocation);

/// In the order of the help.
[[nodiscard]] std::span<const AddSubcommand> subcommands();

}  // namespace heelstrike::client
