/// A program started by this client, e.g. one of the servers: it reports readiness, writes a log and is terminated
/// before it is killed.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/process/process.hpp"

namespace heelstrike {

struct ChildOptions {
  std::string name;                    ///< for messages, e.g. "contact server (fem_server)"
  std::filesystem::path program;       ///< binary
  std::vector<std::string> arguments;  ///< without the program itself
  std::filesystem::path log;           ///< its stdout and stderr are appended here; empty = discarded
};

/// Stops the program in the destructor. Used from the thread that created it, see Process.
class ChildProcess {
 public:
  /// The program reports readiness on file descriptor 3 (--ready-fd 3).
  /// @throws Error{file} if it cannot be started or its log cannot be opened
  explicit ChildProcess(ChildOptions options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { stop(std::chrono::seconds(5)); }

  /// Waits for the ready line. @returns the line @throws Error{unavailable} if the program ends before, Error{deadline}
  std::string wait_until_ready(std::chrono::milliseconds deadline);

  [[nodiscard]] const std::string& name() const { return options_.name; }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  /// Readable after the end of the process.
  [[nodiscard]] int descriptor() const { return process_->descriptor(); }
  /// Exit status if the process has ended; waits up to the timeout for the end.
  [[nodiscard]] std::optional<ProcessEnd> ended(std::chrono::milliseconds timeout = {}) {
    return process_->ended(timeout);
  }
  /// Sends SIGTERM, waits up to `grace`, then kills the program.
  void stop(std::chrono::milliseconds grace);

 private:
  ChildOptions options_;
  Descriptor ready_;  ///< read end of the pipe
  std::optional<Process> process_;
};

/// Path of another program of this installation: beside the running one, else found by name in PATH.
/// @throws Error{file} with the searched places
[[nodiscard]] std::filesystem::path sibling_program(const std::string& name);

}  // namespace heelstrike
