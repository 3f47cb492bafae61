// heelstrike condense: prepares the contact of a scenario and stores it in the cache.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/contact/preparation.hpp"
#include "common/errors/plain_text.hpp"
#include "common/text/table.hpp"
#include "library/composition/embedded.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

struct CondenseOptions {
  std::filesystem::path scenario;
  Overrides overrides;
  ServerOptions servers;
};

ExitCode run(const CondenseOptions& options, bool as_json, const std::stop_token& stop) {
  const RunRequest request =
      load_request(options.scenario, options.overrides, schemas_of(known_backends(options.servers)), stop);
  (void)find_pair_warnings(request);  // the preparation reports the warnings
  const ContactSetup setup = contact_setup(request);
  std::vector<std::string> stages;
  std::unique_ptr<Contact> contact;
  const auto begin = std::chrono::steady_clock::now();
  {
    ProgressDisplay display(run_name(request.scenario, ' '), as_json);
    const OpenContext context{.run_id = "condense",
                              .on_progress =
                                  [&](std::string_view stage, double fraction) {
                                    if (stage.starts_with(warning_mark) || stage.starts_with(note_mark)) {
                                      display.clear();
                                      fmt::print(stderr, "heelstrike: {}\n", printable(stage));
                                      return;
                                    }
                                    // Progress repeats the name of a stage; the list has each stage once.
                                    if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
                                    display.show({.stage = std::string(stage), .fraction = fraction});
                                  },
                              .stop = stop};
    contact = contact_factory(options.servers)(setup.pairs, setup.assets, context);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (as_json) {
    nlohmann::ordered_json json = {
        {"seconds", seconds}, {"stages", stages}, {"pairs", nlohmann::ordered_json::array()}};
    for (const PairDescription& pair : contact->pairs()) {
      json["pairs"].push_back({{"name", pair.name}, {"backend", pair.backend}, {"digest", pair.digest}});
    }
    fmt::print("{}\n", json.dump(2));
    return ExitCode::ok;
  }
  for (const std::string& stage : stages) fmt::print("{}\n", stage);
  Table table;
  table.header = {"pair", "backend", "digest"};
  for (const PairDescription& pair : contact->pairs()) {
    table.rows.push_back({pair.name, pair.backend, pair.digest.substr(0, 16)});
  }
  fmt::print("{}prepared in {:.2f} s\n", table.fitted(screen_width(Stream::out)), seconds);
  return ExitCode::ok;
}

Action add_condense(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<CondenseOptions>();
  add_scenario_argument(command, options->scenario);
  add_override_options(command, options->overrides);
  command.add_flag("--json", as_json, "Print the report as JSON");
  command
      .add_option("--fem", options->servers.fem,
                  "Prepare in the cache of a running fem_server: host:port or unix:/path")
      ->type_name("ADDRESS");
  return [options](bool json, const std::stop_token& stop) { return run(*options, json, stop); };
}

}  // namespace

Subcommand condense_command() {
  return {.name = "condense",
          .summary = "Prepare the contact of a scenario (mesh, condensation) and cache it",
          .examples =
              "  heelstrike condense examples/foot_press.yaml\n"
              "  heelstrike condense examples/foot_press.yaml --set contact.element_size=0.004",
          .add = add_condense};
}

}  // namespace heelstrike::client
