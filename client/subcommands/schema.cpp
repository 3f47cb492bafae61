// heelstrike schema: every key of a scenario file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/config/schema.hpp"

namespace heelstrike::client {

void add_schema(CLI::App& program, Invocation& invocation) {
  auto* command = program.add_subcommand("schema", "Show every key of a scenario file with unit, range and default");
  add_footer(*command, "  heelstrike schema\n  heelstrike schema > scenario.md");
  command->callback([&invocation] {
    invocation.action = [](std::stop_token) {
      fmt::print("{}", config::scenario_reference());
      return ExitCode::ok;
    };
  });
}

}  // namespace heelstrike::client
