// heelstrike condense: prepares the contact of a scenario and stores it in the cache.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/contact/preparation.hpp"
#include "common/errors/plain_text.hpp"
#include "common/process/end_program.hpp"
#include "common/text/table.hpp"
#include "library/composition/embedded.hpp"
#include "library/composition/ranks.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

struct CondenseOptions {
  std::filesystem::path scenario;
  Overrides overrides;
  ServerOptions servers;
};

ExitCode prepare(const CondenseOptions& options, const RunRequest& request, bool as_json, const std::stop_token& stop) {
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

RunRequest load(const CondenseOptions& options, const std::stop_token& stop) {
  return load_request(options.scenario, options.overrides, schemas_of(known_backends(options.servers)), stop);
}

/// Called on another thread, while this one waits for the lost rank and cannot continue.
[[noreturn]] void end_without(const Error& loss, bool as_json) {
  print_message("error", loss.what());
  if (as_json) {
    const nlohmann::ordered_json report = {
        {"error", {{"code", to_string(loss.code())}, {"message", loss.what()}, {"field", loss.field()}}}};
    fmt::print("{}\n", report.dump(2));
  }
  end_program(to_int(exit_code(loss)));
}

ExitCode prepare_on_ranks(const CondenseOptions& options, RankSession& ranks, bool as_json,
                          const std::stop_token& stop) {
  std::optional<RunRequest> request;
  const auto read = [&] {
    if (!options.servers.fem.empty()) {
      throw input_error("--fem", fmt::format("expected no --fem with {} ranks, which prepare by themselves, found {}; "
                                             "start one process",
                                             ranks.size(), options.servers.fem));
    }
    request = load(options, stop);
    return digest_of(*request);
  };
  if (ranks.leads()) {
    ranks.agree_on(read);
    return prepare(options, *request, as_json, stop);
  }
  try {
    ranks.agree_on(read);
  } catch (const Error& error) {
    return exit_code(error);  // rank 0 prints it
  }
  request.reset();
  ranks.follow();
  return ExitCode::ok;
}

ExitCode run(const CondenseOptions& options, bool as_json, const std::stop_token& stop) {
  const std::unique_ptr<RankSession> ranks = join_ranks([as_json](const Error& loss) { end_without(loss, as_json); });
  if (ranks == nullptr) return prepare(options, load(options, stop), as_json, stop);
  return prepare_on_ranks(options, *ranks, as_json, stop);
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
              "  heelstrike condense examples/foot_press.yaml --set contact.element_size=0.004\n"
              "  mpirun -n 4 heelstrike condense examples/foot_press.yaml",
          .add = add_condense};
}

}  // namespace heelstrike::client
