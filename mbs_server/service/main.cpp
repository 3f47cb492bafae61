// mbs_server: runs simulations for clients, with the contact of a fem_server.
#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/command_line/command_line.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/process/end_program.hpp"
#include "common/process/version.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/run_store.hpp"
#include "mbs_server/service/simulation_service.hpp"
#include "rpc/channel.hpp"
#include "rpc/contact_calls.hpp"
#include "rpc/metrics_page.hpp"
#include "rpc/remote_contact.hpp"
#include "rpc/server/server_program.hpp"

namespace {

using namespace heelstrike;

prometheus::MetricFamily counter(const std::string& name, const std::string& help, std::uint64_t value) {
  prometheus::ClientMetric metric;
  metric.counter.value = static_cast<double>(value);
  return {name, help, prometheus::MetricType::Counter, {metric}};
}

prometheus::MetricFamily gauge(const std::string& name, const std::string& help, double value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = value;
  return {name, help, prometheus::MetricType::Gauge, {metric}};
}

/// Metrics of the multibody server for Prometheus; read from the store on each request.
class RunMetrics : public prometheus::Collectable {
 public:
  /// Both outlive the metrics.
  RunMetrics(const mbs::RunStore& store, const mbs::SimulationService& service) : store_(store), service_(service) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    const mbs::RunCounters& counters = store_.counters();
    return {counter("heelstrike_runs_started_total", "Runs started", counters.started),
            counter("heelstrike_runs_completed_total", "Runs that reached their end time", counters.completed),
            counter("heelstrike_runs_incomplete_total", "Runs that reached their end without some of their frames",
                    counters.incomplete),
            counter("heelstrike_runs_failed_total", "Runs that failed", counters.failed),
            counter("heelstrike_runs_cancelled_total", "Runs stopped on request", counters.cancelled),
            counter("heelstrike_runs_resumed_total", "Runs resumed after the termination of an earlier server",
                    counters.resumed),
            counter("heelstrike_steps_total", "Integrator steps of runs that have ended", counters.steps),
            gauge("heelstrike_runs_running", "Active runs", store_.n_running()),
            gauge("heelstrike_watchers", "Clients watching a run", service_.n_watchers())};
  }

 private:
  const mbs::RunStore& store_;
  const mbs::SimulationService& service_;
};

struct Settings {
  rpc::ServerProgramOptions program;
  rpc::Endpoint fem;
  std::string spool = "heelstrike-spool";
  mbs::RunLimits limits;
  std::optional<double> exchange_timeout;                                                         // [s]
  double reconnect_timeout = 1e-3 * static_cast<double>(rpc::default_reconnect_timeout.count());  // [s]
  bool allow_fmus = false;
  std::string metrics_address;
  std::string log_level = "info";
};

void add_fem_options(CLI::App& app, Settings& settings) {
  app.add_option("--fem", settings.fem.address, "address of the contact server, host:port or unix:/path")
      ->capture_default_str();
  app.add_option("--fem-tls-ca", settings.fem.tls.ca_file,
                 "PEM of the authority that signed its certificate; enables TLS");
  app.add_option("--fem-tls-cert", settings.fem.tls.certificate_file, "PEM of the client certificate (mutual TLS)");
  app.add_option("--fem-tls-key", settings.fem.tls.key_file, "PEM of the key of that certificate");
  app.add_option("--fem-tls-authority", settings.fem.tls.authority, "name expected in its certificate");
  app.add_option("--exchange-timeout", settings.exchange_timeout,
                 "timeout of one reply of the contact server [s]; default: none while it replies to pings")
      ->check(CLI::Range(0.01, 86400.0));
  app.add_option("--reconnect-timeout", settings.reconnect_timeout,
                 "time for reconnection attempts to the contact server before a run fails [s]")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
}

void add_bytes_option(CLI::App& app, const std::string& name, std::uint64_t& bytes, const std::string& help) {
  app.add_option_function<std::uint64_t>(
         name, [&bytes](const std::uint64_t& kib) { bytes = kib << 10U; },
         fmt::format("{} [KiB] (default {})", help, bytes >> 10U))
      ->check(CLI::Range(1, 1 << 30));
}

void add_options(CLI::App& app, Settings& settings) {
  app.set_version_flag("--version", fmt::format("mbs_server {} (contract {})", program_version, contract_version));
  rpc::add_server_options(app, settings.program);
  add_fem_options(app, settings);
  app.add_option("--spool", settings.spool, "folder for the events of all runs until they are deleted")
      ->capture_default_str();
  app.add_option("--max-runs", settings.limits.max_running, "maximum number of concurrent runs")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--max-stored-runs", settings.limits.max_stored_runs,
                 "maximum number of runs in the spool, including finished ones")
      ->check(CLI::Range(1, 100000000))
      ->capture_default_str();
  app.add_option_function<double>(
         "--retention-time",
         [&settings](double hours) {
           settings.limits.retention_time = std::chrono::seconds(static_cast<std::int64_t>(3600.0 * hours));
         },
         "retention time of a finished run that no client fetched [h] (default 168)")
      ->check(CLI::Range(0.0, 876000.0));
  app.add_option("--max-watchers", settings.limits.max_watchers, "maximum number of concurrent watchers of runs")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option_function<std::uint64_t>(
         "--max-field-mib", [&settings](std::uint64_t mib) { settings.limits.max_field_bytes = mib << 20U; },
         "maximum size of all fields (files for ParaView) of one run [MiB] (default 4096)")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option_function<std::uint64_t>(
         "--max-row-mib", [&settings](std::uint64_t mib) { settings.limits.max_row_bytes = mib << 20U; },
         "maximum size of all rows of one run [MiB] (default 4096)")
      ->check(CLI::Range(1, 1 << 30));
  app.add_option_function<std::uint64_t>(
         "--max-upload-mib", [&settings](std::uint64_t mib) { settings.limits.max_upload_bytes = mib << 20U; },
         "maximum size of all unfinished submissions, half of it per client [MiB] (default 2048)")
      ->check(CLI::Range(2, 1 << 30));
  add_bytes_option(app, "--max-scenario-kib", settings.limits.max_scenario_bytes, "maximum size of the scenario text");
  add_bytes_option(app, "--max-files-kib", settings.limits.max_files_bytes,
                   "maximum size of all files of one scenario");
  app.add_flag("--allow-fmu", settings.allow_fmus,
               "run the machine code of FMUs in scenarios; clients that may submit runs then have all rights of "
               "this server");
  app.add_option("--metrics", settings.metrics_address, "serve Prometheus metrics at host:port (off by default)");
  app.add_option("--log-level", settings.log_level, "trace, debug, info, warning, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
}

void start_logging(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("mbs_server"));
  spdlog::set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

// Only for tests with different versions.
std::uint32_t announced_contract() {
  const char* test_contract = std::getenv("HEELSTRIKE_TEST_CONTRACT");
  return test_contract != nullptr ? static_cast<std::uint32_t>(std::strtoul(test_contract, nullptr, 10))
                                  : contract_version;
}

/// All runs have ended, and the clients that watch them have received their last events.
bool wait_until_idle(mbs::RunStore& store, const mbs::SimulationService& service, std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds between_looks{20};
  if (!store.wait_until_idle(timeout)) return false;
  if (service.n_watchers() > 0) std::this_thread::sleep_for(std::min(timeout, between_looks));
  return service.n_watchers() == 0;
}

int serve(const Settings& settings) {
  mbs::RunStore store(settings.spool, settings.limits, mbs::run_scenario);
  rpc::RemoteContactOptions contact;
  contact.endpoint = settings.fem;
  contact.is_server_known = true;  // its back-ends were reported when the run was submitted
  if (settings.exchange_timeout) {
    contact.exchange_timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * *settings.exchange_timeout));
  }
  contact.reconnect_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * settings.reconnect_timeout));
  mbs::SimulationService service(store,
                                 {.schemas =
                                      [fem = settings.fem, reconnect_timeout = contact.reconnect_timeout] {
                                        return schemas_of(rpc::list_backends(fem, reconnect_timeout));
                                      },
                                  .open = rpc::open_remote_contact(contact),
                                  .reconnect_timeout = contact.reconnect_timeout},
                                 announced_contract(), settings.allow_fmus);
  service.resume();
  const auto metrics = serve_metrics(settings.metrics_address, std::make_shared<RunMetrics>(store, service));
  grpc::Service* services[] = {&service};
  return rpc::run_server_program(
      settings.program, services,
      {.begin_drain = [&store] { store.begin_drain(); },
       .stop_work = [&service] { service.stop_work(); },
       .wait_idle = [&](std::chrono::milliseconds timeout) { return wait_until_idle(store, service, timeout); }});
}

int run_program(int argc, char** argv) {
  rpc::block_stop_signals();
  rpc::set_poll_strategy();
  Settings settings;
  settings.program.program = "mbs_server";
  settings.program.listen.addresses = {"127.0.0.1:50052"};
  settings.program.health_services = {v1::SimulationService::service_full_name()};
  settings.fem.address = "127.0.0.1:50051";
  CLI::App app(
      "The multibody side of Heelstrike: runs simulations for heelstrike clients; contact comes from a fem_server.\n"
      "Example: mbs_server --listen 127.0.0.1:50052 --fem 127.0.0.1:50051 --spool /var/lib/heelstrike/spool");
  set_help_format(app, 0);
  add_options(app, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "mbs_server: error: {}\n", parse_error_message(app, error, "mbs_server"));
    return rpc::exit_usage;
  }
  start_logging(settings.log_level);
  try {
    rpc::require_threads();
    return serve(settings);
  } catch (const std::exception& failure) {
    return rpc::report_failure(settings.program.program, failure);
  }
}

}  // namespace

int main(int argc, char** argv) {
  heelstrike::end_program(run_program(argc, argv));
}
