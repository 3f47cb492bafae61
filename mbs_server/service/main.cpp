// mbs_server: runs simulations for clients, with the contact of a fem_server.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <string>

#include "common/config/version.hpp"
#include "common/errors/error.hpp"
#include "common/rpc/remote_contact.hpp"
#include "common/rpc/server_program.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/fem_client.hpp"
#include "mbs_server/service/run_store.hpp"
#include "mbs_server/service/simulation_service.hpp"

namespace {

using namespace heelstrike;

struct Options {
  rpc::ServerProgramOptions program{.program = "mbs_server",
                                    .listen = {.addresses = {"127.0.0.1:50052"}},
                                    .health_services = {"heelstrike.v1.SimulationService"}};
  rpc::Endpoint fem{.address = "127.0.0.1:50051"};
  std::string spool = "heelstrike-spool";
  mbs::RunLimits limits;
  double exchange_timeout = 30.0;  // [s]
};

void add_options(CLI::App& app, Options& options) {
  rpc::add_server_options(app, options.program);
  app.add_option("--fem", options.fem.address, "address of the contact server, host:port or unix:/path")
      ->capture_default_str();
  app.add_option("--fem-tls-ca", options.fem.tls.ca_file, "PEM of the authority that signed its certificate; switches TLS on");
  app.add_option("--fem-tls-cert", options.fem.tls.certificate_file, "PEM of the certificate shown to it (mutual TLS)");
  app.add_option("--fem-tls-key", options.fem.tls.key_file, "PEM of the key of that certificate");
  app.add_option("--fem-tls-authority", options.fem.tls.authority, "name expected in its certificate");
  app.add_option("--exchange-timeout", options.exchange_timeout, "time the contact server has for one answer [s]")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  app.add_option("--spool", options.spool, "folder that keeps the events of all runs until they are forgotten")
      ->capture_default_str();
  app.add_option("--max-runs", options.limits.max_running, "runs at the same time")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--max-kept", options.limits.max_kept, "runs in the spool, finished ones included")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app.add_option("--max-watchers", options.limits.max_watchers, "clients watching runs at the same time")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  const auto scaled = [](std::uint64_t& bytes, unsigned shift) {
    return [&bytes, shift](const std::uint64_t& count) { bytes = count << shift; };
  };
  app.add_option_function<std::uint64_t>("--max-scenario-kib", scaled(options.limits.max_scenario_bytes, 10),
                                         "largest scenario text [KiB] (default 2048)")
      ->check(CLI::Range(1, 32768));
  app.add_option_function<std::uint64_t>("--max-files-mib", scaled(options.limits.max_files_bytes, 20),
                                         "files of one scenario together [MiB] (default 1024)")
      ->check(CLI::Range(1, 1048576));
}

// Only for tests of what happens when versions differ.
std::uint32_t announced_contract() {
  const char* faked = std::getenv("HEELSTRIKE_TEST_CONTRACT");
  return faked != nullptr ? static_cast<std::uint32_t>(std::strtoul(faked, nullptr, 10)) : contract_version;
}

int serve(const Options& options) {
  mbs::RunStore store(options.spool, options.limits, mbs::run_scenario);
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * options.exchange_timeout));
  mbs::SimulationService service(
      store,
      {.schemas = [fem = options.fem] { return mbs::fetch_schemas(fem); },
       .open = rpc::open_remote_contact({.endpoint = options.fem, .exchange_timeout = timeout})},
      announced_contract());
  grpc::Service* services[] = {&service};
  return rpc::run_server_program(
      options.program, services,
      {.begin_drain = [&store] { store.begin_drain(); },
       .wait_idle = [&store](std::chrono::milliseconds patience) { return store.wait_until_idle(patience); }});
}

}  // namespace

int main(int argc, char** argv) {
  rpc::block_stop_signals();
  Options options;
  CLI::App app("mbs_server: runs multibody simulations for heelstrike clients; contact comes from a fem_server.\n\n"
               "Example: mbs_server --listen 127.0.0.1:50052 --fem 127.0.0.1:50051 --spool /var/lib/heelstrike/spool");
  app.set_version_flag("--version", fmt::format("mbs_server {} (contract {})", program_version, contract_version));
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return serve(options);
  } catch (const Error& error) {
    spdlog::error("event=failed program=mbs_server code=\"{}\" message=\"{}\"", to_string(error.code()), error.what());
    return rpc::exit_usage;
  } catch (const std::exception& defect) {
    spdlog::error("event=failed program=mbs_server code=internal message=\"{}\"", defect.what());
    return rpc::exit_internal;
  }
}
