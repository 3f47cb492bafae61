/// The life of a server program around its services: listen, say so, serve, drain, stop.
///
///     int main(int argc, char** argv) {
///       block_stop_signals();                     // before any thread exists
///       ...parse options (add_server_options)...
///       MyService service;
///       grpc::Service* services[] = {&service};
///       return run_server_program(options, services, {.begin_drain = ..., .wait_idle = ...});
///     }
///
/// SIGTERM or SIGINT starts the drain: health answers NOT_SERVING, `begin_drain` makes the services refuse new work,
/// work in progress may finish within `drain_timeout`, then the server stops. A second signal stops at once. With
/// `exit_with_parent` the death of the parent stops at once, too. (Linux takes the end of the *thread* that started the
/// child for it: start servers from a thread that lives as long as they shall.)
///
/// At a stop `stop_work` asks all work to end. What has not ended `stop_grace` later is abandoned: the process ends all
/// the same, whatever is being computed, and whatever memory or threads it may still have.
///
/// A machine that does not give the threads that a server needs (`require_threads`), or a server that does not answer a
/// call of its own before it says that it listens, is Error{limit} and `exit_cannot_listen`.
///
/// A server whose listening sockets no longer work drains and ends with `exit_not_accepting`, so that a supervisor starts it
/// again.
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

/// From the request that work should end to the end of the process that does not wait for it any longer.
inline constexpr std::chrono::milliseconds stop_grace{2'000};

/// Exit codes of the server programs.
enum ServerExit : int {
  exit_ok = 0,             ///< stopped on request
  exit_internal = 1,       ///< a defect of the program
  exit_usage = 2,          ///< options, configuration or files they name
  exit_cannot_listen = 3,  ///< address in use or not available, or no threads or memory to serve with
  exit_not_accepting = 4,           ///< connections are no longer accepted: to be started again
};

struct ServerProgramOptions {
  std::string program;  ///< "fem_server"
  ListenOptions listen;
  std::vector<std::string> health_services;  ///< names reported by the health service besides ""
  std::optional<int> ready_fd;               ///< receives the ready line (ready_line.hpp)
  std::string ready_file;                    ///< the same in a file; empty = none
  bool exit_with_parent = false;
  std::chrono::milliseconds drain_timeout{10'000};
  int max_threads = 1024;  ///< a stream occupies one; further calls are refused with RESOURCE_EXHAUSTED
};

struct DrainHooks {
  std::function<void()> begin_drain;  ///< refuse new work from now on; may be empty
  std::function<void()> stop_work;    ///< ask all work in progress to end; may be empty
  /// Waits until no work is in progress; false when some is left after the time. May be empty: nothing to wait for.
  std::function<bool(std::chrono::milliseconds)> wait_idle;
};

/// Has a server that is to be built serve Exchange calls, at most so many at a time.
using ServeExchange = std::function<std::unique_ptr<ExchangeServer>(grpc::ServerBuilder& builder, int max_calls)>;

/// Blocks the stop signals in this thread and all that it starts; `run_server_program` waits for them. Threads that
/// libraries start before main have them blocked by common_signals_blocked.
/// SIGPIPE and SIGXFSZ are ignored: what cannot be written is an error where it is written.
void block_stop_signals();

/// Before anything of the server exists: threads that it needs at rest and for a few clients can be had, with a stack
/// and memory for each. gRPC ends the process, or serves nobody, where they cannot. Address space that is limited is
/// kept for them: fewer arenas of memory share it.
/// @throws Error{limit}
void require_threads();

/// The sentence for the log and the exit code of what has ended a server program.
[[nodiscard]] ServerExit report_failure(const std::string& program, const std::exception& failure);

/// Adds --listen, --tls-cert, --tls-key, --tls-client-ca, --max-message-mib, --max-connections, --socket-mode,
/// --ready-fd,
/// --ready-file, --exit-with-parent, --drain-timeout to a command line; what `options` holds is the default.
void add_server_options(CLI::App& app, ServerProgramOptions& options);

/// Serves until told to stop. Health service and reflection are added. Every failure is logged with its sentence.
/// @param exchange  empty = the services have no such calls
/// @return one of ServerExit
[[nodiscard]] int run_server_program(const ServerProgramOptions& options, std::span<grpc::Service* const> services,
                                     const DrainHooks& hooks, const ServeExchange& exchange = {});

}  // namespace heelstrike::rpc
