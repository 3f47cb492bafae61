// heelstrike schema: lists every key of a scenario file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "client/subcommands/json_schema.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "library/registries/catalog.hpp"
#include "scenario/scenario_schema.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::client {
namespace {

Action add_schema(CLI::App& command, bool& as_json) {
  command.add_flag("--json", as_json, "JSON Schema (2020-12) for editors, with the parameters of all back-ends");
  return [](bool json, const std::stop_token& /*stop*/) {
    if (json) {
      fmt::print("{}\n",
                 json_schema(config::scenario_schema(scenario_catalog()), schemas_of(known_backends({}))).dump(1));
    } else {
      fmt::print("{}", config::scenario_reference(scenario_catalog()));
    }
    return ExitCode::ok;
  };
}

}  // namespace

Subcommand schema_command() {
  return {.name = "schema",
          .summary = "Show every key of a scenario file with unit, range and default",
          .examples = "  heelstrike schema > scenario.md\n  heelstrike schema --json > scenario.schema.json",
          .add = add_schema};
}

}  // namespace heelstrike::client
