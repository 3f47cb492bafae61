/// fem_server: the contact service as a program.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "common/command_line/command_line.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/process/end_program.hpp"
#include "common/process/version.hpp"
#include "fem_server/backend_interface/ranks.hpp"
#include "fem_server/service/contact_service.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "rpc/channel.hpp"
#include "rpc/metrics_page.hpp"
#include "rpc/server/server_program.hpp"

namespace {

using namespace heelstrike;

struct Settings {
  rpc::ServerProgramOptions program;
  fem::ServiceLimits limits;
  std::string assets_folder;
  std::string cache_folder = fem::default_cache_directory();
  std::string metrics_address;
  std::string log_level = "info";
};

void add_bytes_option(CLI::App& app, const std::string& name, std::size_t& bytes, const std::string& help) {
  app.add_option_function<std::size_t>(
         name, [&bytes](std::size_t mib) { bytes = mib << 20; },
         fmt::format("{} [MiB] (default {})", help, bytes >> 20))
      ->check(CLI::Range(0, 1 << 30));
}

void add_time_option(CLI::App& app, const std::string& name, std::chrono::milliseconds& time, const std::string& help) {
  app.add_option_function<double>(
         name,
         [&time](double seconds) { time = std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * seconds)); },
         fmt::format("{} [s] (default {})", help, time.count() / 1000))
      ->check(CLI::Range(0.05, 1e7));
}

void add_options(CLI::App& app, Settings& settings) {
  auto& limits = settings.limits;
  app.set_version_flag("--version", fmt::format("fem_server {} (contract {})", program_version, contract_version));
  rpc::add_server_options(app, settings.program);
  app.add_option("--metrics", settings.metrics_address, "serve Prometheus metrics at host:port (off by default)");
  app.add_option("--assets-folder", settings.assets_folder, "folder of mesh files that clients may use by name");
  app.add_option("--cache-dir", settings.cache_folder,
                 "cache folder for meshes and condensations; '' = no cache (default $XDG_CACHE_HOME/heelstrike)");
  app.add_option("--max-mesh-elements", limits.max_mesh_elements, "maximum tetrahedra or triangles of one mesh")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--max-sessions", limits.max_sessions, "maximum open contact sessions")->capture_default_str();
  add_bytes_option(app, "--max-asset-mib", limits.max_asset_bytes, "maximum size of an uploaded file");
  add_bytes_option(app, "--max-asset-store-mib", limits.max_asset_store_bytes, "maximum total size of uploaded files");
  add_bytes_option(app, "--max-memory-mib", limits.max_memory_bytes,
                   "resident memory above which no session is opened, 0 = no limit");
  add_bytes_option(app, "--max-upload-mib", limits.max_upload_bytes,
                   "maximum total size of unfinished uploads, half of it for one client");
  add_time_option(app, "--idle-timeout", limits.idle_timeout,
                  "time without a call after which a session with a connected client is closed");
  add_time_option(app, "--lease", limits.lease, "time after which a session of a disconnected client is closed");
  add_time_option(app, "--min-lease", limits.min_lease,
                  "minimum absence or inactivity of a client before its session or stream is evicted when all are in "
                  "use");
  app.add_option("--max-streams", limits.streams.max_streams, "maximum open Exchange streams")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--max-streams-per-client", limits.streams.max_per_client,
                 "maximum Exchange streams of one client (certificate, else machine) (default half of all)")
      ->check(CLI::Range(1, 100'000));
  add_time_option(app, "--unused-stream-timeout", limits.streams.unused,
                  "time after which an Exchange stream without session is closed");
  app.add_option("--log-level", settings.log_level, "trace, debug, info, warning, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
}

void start_logging(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("fem_server"));
  spdlog::set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

/// Called on another thread, while others wait for the lost rank and cannot continue. A supervisor restarts all ranks.
[[noreturn]] void end_without(const std::string& program, const Error& loss) {
  (void)rpc::report_failure(program, loss);
  end_program(rpc::exit_not_accepting);
}

int serve(const Settings& settings) {
  try {
    const std::string& program = settings.program.program;
    // Ends after the service, whose preparations use the ranks.
    const std::unique_ptr<RankSession> ranks =
        fem::join_ranks([&program](const Error& loss) { end_without(program, loss); });
    if (ranks != nullptr) {
      ranks->agree_on([] { return std::string(program_version); });
      if (!ranks->leads()) {
        ranks->follow();
        return rpc::exit_ok;
      }
      spdlog::info("event=ranks_joined n={}", ranks->size());
    }
    fem::load_elements_below_limit();  // first: the threads must fit beside them
    rpc::require_threads();
    if (const auto orphaned = fem::remove_orphaned_files(settings.cache_folder); orphaned.n > 0) {
      spdlog::info("event=orphaned_files_removed n={} bytes={} folder=\"{}\"", orphaned.n, orphaned.bytes,
                   one_line(settings.cache_folder));
    }
    fem::ContactServiceImpl service(settings.limits, settings.assets_folder, settings.cache_folder);
    const auto metrics = serve_metrics(settings.metrics_address, service.metrics().registry());
    grpc::Service* services[] = {&service};
    return rpc::run_server_program(
        settings.program, services,
        {.begin_drain = [&] { service.calls_in_progress().begin_drain(); },
         .stop_work = [&] { service.stop_work(); },
         .wait_idle =
             [&](std::chrono::milliseconds timeout) { return service.calls_in_progress().wait_idle(timeout); }},
        [&](grpc::ServerBuilder& builder, int max_calls) { return service.serve_exchange(builder, max_calls); });
  } catch (const std::exception& failure) {
    return rpc::report_failure(settings.program.program, failure);
  }
}

int run_program(int argc, char** argv) {
  rpc::block_stop_signals();
  rpc::set_poll_strategy();
  Settings settings;
  settings.program.program = "fem_server";
  settings.program.listen.addresses = {"127.0.0.1:50051"};
  settings.program.health_services = {v1::ContactService::service_full_name()};
  CLI::App app{
      "Contact server of Heelstrike: computes contact wrenches and tangents from relative poses.\n"
      "Started on several ranks (mpirun -n 4 fem_server), rank 0 serves and all of them factorise.\n"
      "Example: fem_server --listen 127.0.0.1:50051 --listen unix:/run/heelstrike/fem.sock"};
  set_help_format(app, 0);
  add_options(app, settings);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "fem_server: error: {}\n", parse_error_message(app, error, "fem_server"));
    return rpc::exit_usage;
  }
  start_logging(settings.log_level);
  return serve(settings);
}

}  // namespace

int main(int argc, char** argv) {
  heelstrike::end_program(run_program(argc, argv));
}
