#include "common/rpc/server_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <ctime>
#include <stop_token>

#include "common/config/version.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/rpc/exit_timer.hpp"
#include "common/rpc/ready_line.hpp"
#include "common/signals/stop_signals.hpp"

namespace heelstrike::rpc {

namespace {

using std::chrono::milliseconds;

/// Stops this process when its parent ends: the kernel sends SIGTERM.
class ParentWatch {
 public:
  explicit ParentWatch(bool enabled) : parent_(enabled ? ::getppid() : 0) {
    if (enabled) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  /// A parent that ended before we were constructed shows when the ready line cannot be written. Process 1 is no sign
  /// of it: in a container it may well be the parent.
  [[nodiscard]] bool orphaned() const { return parent_ != 0 && ::getppid() != parent_; }

 private:
  pid_t parent_;
};

/// Name of the signal, or empty when none came within `timeout`.
std::string wait_for_signal(milliseconds timeout) {
  const sigset_t set = stop_signals();
  const timespec time{.tv_sec = timeout.count() / 1000, .tv_nsec = (timeout.count() % 1000) * 1'000'000};
  const int number = ::sigtimedwait(&set, nullptr, &time);
  if (number == SIGTERM) return "SIGTERM";
  if (number == SIGINT) return "SIGINT";
  if (number == SIGHUP) return "SIGHUP";
  return {};
}

constexpr milliseconds look_at_listener{1'000};
// The acceptor turns every second; a machine that does not let it for half a minute lets nobody in either.
constexpr milliseconds deaf_after{30'000};
// A process that stood still (SIGSTOP, a frozen container) has not been deaf: its acceptor needs a moment to turn
// again.
constexpr int looks_until_sure = 3;

/// @returns what the program shall exit with
ServerExit wait_for_stop(const ServerProgramOptions& options, const Listener& listener, const ParentWatch& parent) {
  std::string cause;
  for (int n_deaf = 0; cause.empty() && n_deaf < looks_until_sure;) {
    n_deaf = listener.works(deaf_after) ? 0 : n_deaf + 1;
    cause = wait_for_signal(look_at_listener);
    if (parent.orphaned()) cause = "parent_ended";
  }
  spdlog::log(cause.empty() ? spdlog::level::err : spdlog::level::info, "event=stop program={} cause={}",
              options.program, cause.empty() ? "listener_lost" : cause);
  return cause.empty() ? exit_deaf : exit_ok;
}

void set_health(grpc::Server& server, const ServerProgramOptions& options, bool serving) {
  auto* health = server.GetHealthCheckService();
  health->SetServingStatus(serving);
  for (const auto& name : options.health_services) health->SetServingStatus(name, serving);
}

/// @return whether all work has ended
bool drain(const ServerProgramOptions& options, const DrainHooks& hooks, const ParentWatch& parent) {
  if (hooks.begin_drain) hooks.begin_drain();
  if (!hooks.wait_idle || parent.orphaned()) return false;
  const auto deadline = std::chrono::steady_clock::now() + options.drain_timeout;
  while (!hooks.wait_idle(milliseconds{20})) {
    if (std::chrono::steady_clock::now() >= deadline) {
      spdlog::warn("event=drain program={} result=timeout timeout_ms={}", options.program,
                   options.drain_timeout.count());
      return false;
    }
    if (!wait_for_signal(milliseconds{0}).empty() || parent.orphaned()) return false;
  }
  spdlog::info("event=drain program={} result=idle", options.program);
  return true;
}

/// Ends all calls and waits for the work that they leave behind.
void shut_down(grpc::Server& server, ExchangeServer* exchange, const DrainHooks& hooks, bool idle) {
  if (hooks.stop_work) hooks.stop_work();
  if (exchange != nullptr) exchange->shut_sockets();
  server.Shutdown(std::chrono::system_clock::now() + milliseconds{idle ? 500 : 0});
  while (hooks.wait_idle && !hooks.wait_idle(stop_grace)) {
  }
}

void announce(const ServerProgramOptions& options, const Listener& listener) {
  const std::vector<std::string> addresses = listener.bound_addresses();
  spdlog::info("event=listening program={} version={} contract={} addresses=\"{}\" tls={}", options.program,
               program_version, contract_version, fmt::join(addresses, " "),
               !options.listen.tls.enabled()               ? "off"
               : options.listen.tls.client_ca_file.empty() ? "on"
                                                           : "mutual");
  if (listener.beyond_this_machine() && !options.listen.tls.enabled()) {
    spdlog::warn(
        "event=unprotected program={} message=\"other machines can reach this server and nothing is encrypted: whoever "
        "gets through can use it and read along; give it --tls-cert, --tls-key and --tls-client-ca, or listen on "
        "127.0.0.1\"",
        options.program);
  }
  if (!options.ready_file.empty()) write_ready_file(options.ready_file, addresses);
  if (options.ready_fd) write_ready_fd(*options.ready_fd, addresses);
}

ServerExit serve(const ServerProgramOptions& options, std::span<grpc::Service* const> services, const DrainHooks& hooks,
                 const ServeExchange& serve_exchange, const ParentWatch& parent) {
  ListenOptions listen = options.listen;
  listen.message_sockets = static_cast<bool>(serve_exchange);
  Listener listener(listen);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  listener.configure(builder);
  grpc::ResourceQuota quota(options.program);
  quota.SetMaxThreads(options.max_threads);
  builder.SetResourceQuota(quota);
  for (auto* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server;  // outlives the exchange
  const auto exchange = serve_exchange ? serve_exchange(builder, options.max_threads) : nullptr;
  server = builder.BuildAndStart();
  if (!server) throw Error(ErrorCode::internal, "gRPC could not build the server; its own lines above say why");
  if (exchange) exchange->start(*server);
  set_health(*server, options, true);
  listener.start([&](int connection) { exchange->take_socket(connection, listen.max_message_bytes); });
  announce(options, listener);
  const ServerExit code = wait_for_stop(options, listener, parent);
  set_health(*server, options, false);
  const bool idle = drain(options, hooks, parent);
  const ExitTimer patience(stop_grace, code, [&options] {
    spdlog::warn("event=stopped program={} result=abandoned", options.program);
    spdlog::default_logger()->flush();
  });
  listener.stop();
  shut_down(*server, exchange.get(), hooks, idle);
  return code;
}

/// `--config`: a YAML mapping of option names to scalars or lists.
class YamlConfig final : public CLI::Config {
 public:
  std::string to_config(const CLI::App* /*app*/, bool /*defaults*/, bool /*descriptions*/,
                        std::string /*prefix*/) const override {
    return {};
  }
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> items;
    try {
      const YAML::Node root = YAML::Load(input);
      if (!root.IsMap()) throw CLI::ConfigError("the configuration file is not a YAML mapping of options");
      for (const auto& entry : root) {
        CLI::ConfigItem item;
        item.name = entry.first.as<std::string>();
        if (entry.second.IsSequence()) item.inputs = entry.second.as<std::vector<std::string>>();
        if (entry.second.IsScalar()) item.inputs = {entry.second.as<std::string>()};
        items.push_back(std::move(item));
      }
    } catch (const YAML::Exception& error) {
      throw CLI::ConfigError(std::string("the configuration file does not parse: ") + error.what());
    }
    return items;
  }
};

}  // namespace

void block_stop_signals() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void add_server_options(CLI::App& app, ServerProgramOptions& options) {
  auto& tls = options.listen.tls;
  app.add_option("--listen", options.listen.addresses, "address to listen on, host:port or unix:/path; repeatable")
      ->take_all()
      ->capture_default_str();
  app.add_option("--tls-cert", tls.certificate_file, "PEM chain of the server's certificate; switches TLS on");
  app.add_option("--tls-key", tls.key_file, "PEM of the server's key");
  app.add_option("--tls-client-ca", tls.client_ca_file, "PEM of the authority whose clients are let in (mutual TLS)");
  app.add_option_function<int>(
         "--max-message-mib",
         [&options](int mib) { options.listen.max_message_bytes = static_cast<std::size_t>(mib) << 20; },
         "largest message [MiB] (default 64)")
      ->check(CLI::Range(1, 2047));
  app.add_option("--max-connections", options.listen.max_connections,
                 "connections open at a time; further ones are closed at once")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--ready-fd", options.ready_fd, "write the bound addresses as one line to this file descriptor");
  app.add_option("--ready-file", options.ready_file, "write the bound addresses as one line to this file");
  app.add_flag("--exit-with-parent", options.exit_with_parent, "stop when the parent process ends");
  app.add_option_function<double>(
         "--drain-timeout",
         [&options](double seconds) {
           options.drain_timeout = milliseconds(static_cast<std::int64_t>(1000.0 * seconds));
         },
         "time that work in progress gets after SIGTERM [s] (default 10)")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--max-threads", options.max_threads, "threads for calls; an open stream occupies one")
      ->check(CLI::Range(8, 100'000))
      ->capture_default_str();
  app.set_config("--config", "", "YAML file with the long options as keys, without the dashes");
  app.config_formatter(std::make_shared<YamlConfig>());
  app.allow_config_extras(CLI::config_extras_mode::error);
}

int run_server_program(const ServerProgramOptions& options, std::span<grpc::Service* const> services,
                       const DrainHooks& hooks, const ServeExchange& exchange) {
  const ParentWatch parent(options.exit_with_parent);
  try {
    const ServerExit code = serve(options, services, hooks, exchange, parent);
    spdlog::info("event=stopped program={}", options.program);
    return code;
  } catch (const Error& error) {
    spdlog::error("event=failed program={} code=\"{}\" message=\"{}\"", options.program, to_string(error.code()),
                  one_line(error.what()));
    return error.code() == ErrorCode::unavailable ? exit_cannot_listen : exit_usage;
  } catch (const std::exception& error) {
    spdlog::error("event=failed program={} code=internal message=\"{}\"", options.program, one_line(error.what()));
    return exit_internal;
  }
}

}  // namespace heelstrike::rpc
