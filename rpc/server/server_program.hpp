/// Life cycle of a server program: listen, report readiness, serve, drain, stop.
///
///     int main(int argc, char** argv) {
///       block_stop_signals();                     // before any thread exists
///       ...parse options (add_server_options)...
///       MyService service;
///       grpc::Service* services[] = {&service};
///       return run_server_program(options, services, {.begin_drain = ..., .wait_idle = ...});
///     }
///
/// SIGTERM or SIGINT starts the drain: health reports NOT_SERVING, `begin_drain` makes the services reject new work,
/// work in progress may finish within `drain_timeout`, then the server stops. A second signal stops at once. With
/// `exit_with_parent` the end of the parent stops at once, too. (Linux uses the end of the *thread* that started the
/// child: start servers from a thread that outlives them.)
///
/// At a stop `stop_work` requests the end of all work. Work that has not ended after `stop_grace` is abandoned: the
/// process ends unconditionally, without waiting for memory or threads.
///
/// A machine without the required threads (`require_threads`), or a server that does not respond to its own test call
/// before the ready line, raises Error{limit} and `exit_cannot_listen`.
///
/// A server with failed listening sockets drains and ends with `exit_not_accepting`, so that a supervisor restarts it.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rpc/server/exchange_server.hpp"
#include "rpc/server/listener.hpp"

namespace CLI {
class App;
}

namespace heelstrike::rpc {

/// Time from the stop request to work until the forced end of the process.
inline constexpr std::chrono::milliseconds stop_grace{2'000};

/// Exit codes of the server programs.
enum ServerExit : int {
  exit_ok = 0,             ///< stopped on request
  exit_internal = 1,       ///< a defect of the program
  exit_usage = 2,          ///< options, configuration or their files
  exit_listen_failed = 3,  ///< address in use or not available, or no threads or memory to serve with
  exit_not_accepting = 4,  ///< connections are no longer accepted: restart required
};

struct ServerProgramOptions {
  std::string program;  ///< "fem_server"
  ListenOptions listen;
  std::vector<std::string> health_services;  ///< names reported by the health service besides ""
  std::optional<int> ready_fd;               ///< receives the ready line (ready_line.hpp)
  std::string ready_file;                    ///< the same in a file; empty = none
  bool exit_with_parent = false;
  std::chrono::milliseconds drain_timeout{10'000};
  int max_threads = 1024;  ///< a stream occupies one; further calls are rejected with RESOURCE_EXHAUSTED
};

struct DrainHooks {
  std::function<void()> begin_drain;  ///< rejects new work from now on; may be empty
  std::function<void()> stop_work;    ///< requests the end of all work in progress; may be empty
  /// Waits until no work is in progress; false after a timeout. May be empty: nothing to wait for.
  std::function<bool(std::chrono::milliseconds)> wait_idle;
};

/// Adds Exchange calls to a server under construction, at most `max_calls` at a time.
using ServeExchange = std::function<std::unique_ptr<ExchangeServer>(grpc::ServerBuilder& builder, int max_calls)>;

/// Blocks the stop signals in this thread and its later threads; `run_server_program` waits for them. Threads that
/// libraries start before main have them blocked by common_signals_blocked. SIGPIPE and SIGXFSZ are ignored, so that
/// failed writes are errors of the write.
void block_stop_signals();

/// Verifies, before the server is built, that threads with stack and memory are available for an idle server and a few
/// clients. Without them gRPC aborts the process or serves no client. Limited address space is reserved for them by
/// fewer memory arenas.
/// @throws Error{limit}
void require_threads();

/// Logs the failure that ended a server program and returns its exit code.
[[nodiscard]] ServerExit report_failure(const std::string& program, const std::exception& failure);

/// Adds --listen, --tls-cert, --tls-key, --tls-client-ca, --max-message-mib, --max-connections, --socket-mode,
/// --ready-fd,
/// --ready-file, --exit-with-parent, --drain-timeout to a command line; values in `options` are the defaults.
void add_server_options(CLI::App& app, ServerProgramOptions& options);

/// Serves until a stop is requested. Health service and reflection are added. Every failure is logged.
/// @param exchange  empty = the services have no such calls
/// @return one of ServerExit
[[nodiscard]] int run_server_program(const ServerProgramOptions& options, std::span<grpc::Service* const> services,
                                     const DrainHooks& hooks, const ServeExchange& exchange = {});

}  // namespace heelstrike::rpc
