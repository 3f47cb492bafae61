#include "rpc/server/server_program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/client_context.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_interceptor.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <ctime>
#include <latch>
#include <new>
#include <stop_token>
#include <system_error>
#include <thread>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/errors/rejection.hpp"
#include "common/process/end_program.hpp"
#include "common/process/version.hpp"
#include "rpc/exit_timer.hpp"
#include "rpc/server/call_watch.hpp"
#include "rpc/server/ready_line.hpp"

namespace heelstrike::rpc {

namespace {

using std::chrono::milliseconds;

/// Stops this process when its parent ends: the kernel sends SIGTERM.
class ParentWatchdog {
 public:
  explicit ParentWatchdog(bool enabled) : parent_(enabled ? ::getppid() : 0) {
    if (enabled) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  /// A parent that ended before construction is detected by the failing ready line. A parent with process id 1 is no
  /// indication: in a container it may be the real parent.
  [[nodiscard]] bool is_orphaned() const { return parent_ != 0 && ::getppid() != parent_; }

 private:
  pid_t parent_;
};

/// Name of the signal, or empty after `timeout`.
std::string wait_for_signal(milliseconds timeout) {
  const sigset_t set = stop_signals();
  const timespec time{.tv_sec = timeout.count() / 1000, .tv_nsec = (timeout.count() % 1000) * 1'000'000};
  const int number = ::sigtimedwait(&set, nullptr, &time);
  if (number == SIGTERM) return "SIGTERM";
  if (number == SIGINT) return "SIGINT";
  if (number == SIGHUP) return "SIGHUP";
  return {};
}

constexpr milliseconds listener_poll_interval{1'000};
// The acceptor loop iterates every second; without an iteration for half a minute no connection is accepted.
constexpr milliseconds accept_timeout{30'000};
// After a suspension of the process (SIGSTOP, a frozen container) the acceptor needs a moment for its next iteration.
constexpr int max_failed_polls = 3;

/// @returns exit code of the program
ServerExit wait_for_stop(const ServerProgramOptions& options, const Listener& listener, const ParentWatchdog& parent) {
  std::string cause;
  for (int n_failed_polls = 0; cause.empty() && n_failed_polls < max_failed_polls;) {
    n_failed_polls = listener.is_operational(accept_timeout) ? 0 : n_failed_polls + 1;
    cause = wait_for_signal(listener_poll_interval);
    if (parent.is_orphaned()) cause = "parent_ended";
  }
  spdlog::log(cause.empty() ? spdlog::level::err : spdlog::level::info, "event=stop program={} cause={}",
              options.program, cause.empty() ? "listener_lost" : cause);
  return cause.empty() ? exit_not_accepting : exit_ok;
}

void set_health(grpc::Server& server, const ServerProgramOptions& options, bool serving) {
  auto* health = server.GetHealthCheckService();
  health->SetServingStatus(serving);
  for (const auto& name : options.health_services) health->SetServingStatus(name, serving);
}

/// @return true if all work has ended
bool drain(const ServerProgramOptions& options, const DrainHooks& hooks, const ParentWatchdog& parent) {
  if (hooks.begin_drain) hooks.begin_drain();
  if (!hooks.wait_idle || parent.is_orphaned()) return false;
  const auto deadline = std::chrono::steady_clock::now() + options.drain_timeout;
  while (!hooks.wait_idle(milliseconds{20})) {
    if (std::chrono::steady_clock::now() >= deadline) {
      spdlog::warn("event=drain program={} result=timeout timeout_ms={}", options.program,
                   options.drain_timeout.count());
      return false;
    }
    if (!wait_for_signal(milliseconds{0}).empty() || parent.is_orphaned()) return false;
  }
  spdlog::info("event=drain program={} result=idle", options.program);
  return true;
}

/// Ends all calls and waits for their remaining work.
void shut_down(grpc::Server& server, ExchangeServer* exchange, const DrainHooks& hooks, bool idle) {
  if (hooks.stop_work) hooks.stop_work();
  if (exchange != nullptr) exchange->shut_down_sockets();
  server.Shutdown(std::chrono::system_clock::now() + milliseconds{idle ? 500 : 0});
  while (hooks.wait_idle && !hooks.wait_idle(stop_grace)) {
  }
}

/// Test call to the server by the path of client calls. gRPC may build a server without threads, which then rejects
/// every call.
/// @return the failure; none = success
std::optional<Error> probe_server(grpc::Server& server, const ServerProgramOptions& options) {
  constexpr std::chrono::seconds timeout{10};
  const auto channel = server.InProcessChannel({});
  for (const std::string& service : options.health_services) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    const std::string name = "/" + service + "/GetVersion";
    const grpc::internal::RpcMethod method(name.c_str(), grpc::internal::RpcMethod::NORMAL_RPC, channel);
    const grpc::Slice empty("", 0);
    const grpc::ByteBuffer request(&empty, 1);
    grpc::ByteBuffer response;
    const grpc::Status status = grpc::internal::BlockingUnaryCall(channel.get(), method, &context, request, &response);
    if (status.ok()) continue;
    return limit_error(
        "threads", fmt::format("the server was built, but does not respond ({}); it needs more threads or memory than "
                               "available: raise ulimit -v, ulimit -u, or the limits of the container or systemd unit",
                               status.error_message()));
  }
  return std::nullopt;
}

/// Logs the reason if gRPC aborts the process for lack of threads while the server is built.
class AbortLogger {
 public:
  AbortLogger() { std::signal(SIGABRT, log_abort); }
  ~AbortLogger() { std::signal(SIGABRT, SIG_DFL); }
  AbortLogger(const AbortLogger&) = delete;
  AbortLogger& operator=(const AbortLogger&) = delete;

 private:
  static void log_abort(int /*signal*/) {
    constexpr std::string_view text =
        "level=error event=failed code=\"limit reached\" message=\"gRPC could not be started, see its log lines above; "
        "the server needs more threads or memory than available: raise ulimit -v, ulimit -u, or the limits of the "
        "container or systemd unit\"\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(exit_listen_failed);
  }
};

/// A stream of the reflection service occupies a thread, and the service belongs to gRPC: idle streams are cancelled
/// externally, at once if there are many.
class ReflectionWatch final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ReflectionWatch(CallWatch& watch) : watch_(watch) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    if (!std::string_view(info->method()).starts_with("/grpc.reflection.")) return nullptr;
    return new Watched(watch_, *info->server_context(), n_open_);
  }

 private:
  class Watched final : public grpc::experimental::Interceptor {
   public:
    Watched(CallWatch& watch, grpc::ServerContextBase& context, std::atomic<int>& n_open)
        : watch_(watch),
          context_(context),
          n_open_(n_open),
          stall_(++n_open > max_open ? milliseconds{1} : handshake_timeout) {}
    ~Watched() override { --n_open_; }
    void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
      using Hook = grpc::experimental::InterceptionHookPoints;
      // Not in the constructor: gRPC creates interceptors before the context has its call, and cancelling a context
      // without call aborts the process. Not at every hook: a cancellation by the watch runs this, too.
      if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA))
        call_.emplace(watch_, context_, stall_);
      if (call_ && methods->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE)) call_->record_progress();
      // Not in the destructor: before it gRPC shuts the queue of the call down, and a context used with such a queue
      // whether it is cancelled releases itself once more, which aborts the process.
      if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_STATUS)) call_.reset();
      methods->Proceed();
    }

   private:
    static constexpr int max_open = 16;
    CallWatch& watch_;
    grpc::ServerContextBase& context_;
    std::atomic<int>& n_open_;
    const milliseconds stall_;
    std::optional<CallWatch::Call> call_;
  };

  CallWatch& watch_;
  std::atomic<int> n_open_{0};
};

/// Guarantees the end of the process after serving, for every cause and without further resources.
class ExitTimerGuard {
 public:
  explicit ExitTimerGuard(ExitTimer& end) : end_(end) {}
  ~ExitTimerGuard() { end_.arm(stop_grace, exit_listen_failed); }
  ExitTimerGuard(const ExitTimerGuard&) = delete;
  ExitTimerGuard& operator=(const ExitTimerGuard&) = delete;

 private:
  ExitTimer& end_;
};

void announce(const ServerProgramOptions& options, const Listener& listener) {
  const std::vector<std::string> addresses = listener.bound_addresses();
  spdlog::info("event=listening program={} version={} contract={} addresses=\"{}\" tls={}", options.program,
               program_version, contract_version, fmt::join(addresses, " "),
               !options.listen.tls.enabled()               ? "off"
               : options.listen.tls.client_ca_file.empty() ? "on"
                                                           : "mutual");
  if (listener.is_remotely_reachable() && !options.listen.tls.enabled()) {
    spdlog::warn(
        "event=unprotected program={} message=\"other machines can reach this server without encryption: every host "
        "with access can use it and read its traffic; set --tls-cert, --tls-key and --tls-client-ca, or listen on "
        "127.0.0.1\"",
        options.program);
  }
  if (!options.ready_file.empty()) write_ready_file(options.ready_file, addresses);
  if (options.ready_fd) write_ready_fd(*options.ready_fd, addresses);
}

ServerExit serve(const ServerProgramOptions& options, std::span<grpc::Service* const> services, const DrainHooks& hooks,
                 const ServeExchange& serve_exchange, const ParentWatchdog& parent, ExitTimer& end) {
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
  CallWatch reflection;  // outlives the server
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watches;
  watches.push_back(std::make_unique<ReflectionWatch>(reflection));
  builder.experimental().SetInterceptorCreators(std::move(watches));
  std::unique_ptr<grpc::Server> server;  // outlives the exchange
  const auto exchange = serve_exchange ? serve_exchange(builder, options.max_threads) : nullptr;
  const ExitTimerGuard certain(end);
  {
    const AbortLogger abort_logger;
    server = builder.BuildAndStart();
  }
  if (!server) throw Error(ErrorCode::internal, "gRPC could not build the server; see its log lines above");
  if (exchange) exchange->start(*server);
  if (const auto silent = probe_server(*server, options)) {
    end.arm(stop_grace, report_failure(options.program, *silent));
    listener.stop();
    shut_down(*server, exchange.get(), {}, false);
    return exit_listen_failed;
  }
  set_health(*server, options, true);
  listener.start([&](int connection) { exchange->take_socket(connection, listen.max_message_bytes); });
  announce(options, listener);
  const ServerExit code = wait_for_stop(options, listener, parent);
  set_health(*server, options, false);
  const bool idle = drain(options, hooks, parent);
  end.arm(stop_grace, code);
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
      throw CLI::ConfigError(std::string("the configuration file cannot be parsed: ") + error.what());
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

void require_threads() {
  rlimit space{};
  constexpr int few_arenas = 2;  // each reserves 64 MiB of address space, the size of eight stacks
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) ::mallopt(M_ARENA_MAX, few_arenas);
  // An idle server has 16; each stream and each run needs one.
  constexpr int n_required = 32;
  std::latch over(1);
  std::vector<std::jthread> probes;
  std::string failure;
  try {
    probes.reserve(n_required);
    while (probes.size() < n_required) {
      probes.emplace_back([&over] {
        const std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(1), &std::free);
        (void)::malloc_usable_size(memory.get());  // prevents elimination of the allocation
        over.wait();
      });
    }
  } catch (const std::system_error& error) {
    failure = error.what();
  } catch (const std::bad_alloc& error) {
    failure = error.what();
  }
  over.count_down();
  const std::size_t n_created = probes.size();
  probes.clear();
  if (failure.empty()) return;
  throw limit_error("threads",
                    fmt::format("a server needs {} threads and memory for their stacks, this one can create {}: {}; "
                                "raise ulimit -v, ulimit -u, or the limits of the container or systemd unit",
                                n_required, n_created, failure));
}

ServerExit report_failure(const std::string& program, const std::exception& failure) {
  const auto* typed = dynamic_cast<const Error*>(&failure);
  const auto* system = dynamic_cast<const std::system_error*>(&failure);
  const bool no_thread = system != nullptr && system->code() == std::errc::resource_unavailable_try_again;
  const Error error = typed != nullptr ? *typed
                      : no_thread ? limit_error("threads", fmt::format("no thread can be created: {}", failure.what()))
                                  : untyped_error(failure, "defect of the program");
  spdlog::error("event=failed program={} code=\"{}\" message=\"{}\"", program, to_string(error.code()),
                one_line(error.what()));
  if (error.code() == ErrorCode::unavailable || error.code() == ErrorCode::limit) return exit_listen_failed;
  return error.code() == ErrorCode::internal ? exit_internal : exit_usage;
}

void add_server_options(CLI::App& app, ServerProgramOptions& options) {
  auto& tls = options.listen.tls;
  app.add_option("--listen", options.listen.addresses, "address to listen on, host:port or unix:/path; repeatable")
      ->take_all()
      ->capture_default_str();
  app.add_option("--tls-cert", tls.certificate_file, "PEM chain of the server's certificate; switches TLS on");
  app.add_option("--tls-key", tls.key_file, "PEM of the server's key");
  app.add_option("--tls-client-ca", tls.client_ca_file, "PEM of the authority of accepted clients (mutual TLS)");
  app.add_option_function<int>(
         "--max-message-mib",
         [&options](int mib) { options.listen.max_message_bytes = static_cast<std::size_t>(mib) << 20; },
         "largest message [MiB] (default 64)")
      ->check(CLI::Range(1, 2047));
  app.add_option("--max-connections", options.listen.max_connections,
                 "connections open at a time; further ones are closed at once")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--socket-mode",
         [&options](const std::string& octal) {
           options.listen.socket_mode = static_cast<unsigned>(std::stoul(octal, nullptr, 8));
         },
         "permissions of the files of Unix sockets, independent of the umask (default 600)")
      ->check(CLI::Validator(
          [](const std::string& octal) {
            const bool good =
                !octal.empty() && octal.size() <= 4 && octal.find_first_not_of("01234567") == std::string::npos;
            return good ? std::string() : "expected up to four octal digits, for example 660";
          },
          "OCTAL"));
  app.add_option("--ready-fd", options.ready_fd, "write the bound addresses as one line to this file descriptor");
  app.add_option("--ready-file", options.ready_file, "write the bound addresses as one line to this file");
  app.add_flag("--exit-with-parent", options.exit_with_parent, "stop when the parent process ends");
  app.add_option_function<double>(
         "--drain-timeout",
         [&options](double seconds) {
           options.drain_timeout = milliseconds(static_cast<std::int64_t>(1000.0 * seconds));
         },
         "time for work in progress after SIGTERM [s] (default 10)")
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
  const ParentWatchdog parent(options.exit_with_parent);
  try {
    ExitTimer end([&options] {
      spdlog::warn("event=stopped program={} result=abandoned", options.program);
      spdlog::default_logger()->flush();
    });
    try {
      const ServerExit code = serve(options, services, hooks, exchange, parent, end);
      spdlog::info("event=stopped program={}", options.program);
      return code;
    } catch (const std::exception& failure) {
      return report_failure(options.program, failure);
    }
  } catch (const std::exception& failure) {
    return report_failure(options.program, failure);
  }
}

}  // namespace heelstrike::rpc
