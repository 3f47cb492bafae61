/// A program started by this client, e.g. one of the servers: it says when it is ready, writes a log and is asked to
/// end before it is killed.
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

/// Ends the program when it goes out of scope. Used from the thread that made it, see Process.
class ChildProcess {
 public:
  /// The program gets file descriptor 3 to say that it is ready (--ready-fd 3).
  /// @throws Error{file} when it cannot be started or its log cannot be opened
  explicit ChildProcess(ChildOptions options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { stop(std::chrono::seconds(5)); }

  /// Waits for the line that says that the program is ready. @returns the line
  /// @throws Error{unavailable} when it ends before, Error{deadline}
  std::string wait_until_ready(std::chrono::milliseconds deadline);

  [[nodiscard]] const std::string& name() const { return options_.name; }
  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  /// Readable when it has ended.
  [[nodiscard]] int descriptor() const { return process_->descriptor(); }
  /// How it ended, once it has; looks now, or waits up to `patience` for the end.
  [[nodiscard]] std::optional<ProcessEnd> ended(std::chrono::milliseconds reconnect_timeout = {}) {
    return process_->ended(reconnect_timeout);
  }
  /// Asks it to end, waits up to `grace`, then kills it.
  void stop(std::chrono::milliseconds grace);

 private:
  ChildOptions options_;
  Descriptor ready_;  ///< our end of the pipe
  std::optional<Process> process_;
};

/// Path of another program of this installation: beside the running one, else found by name in PATH.
/// @throws Error{file} saying where was looked
[[nodiscard]] std::filesystem::path sibling_program(const std::string& name);

}  // namespace heelstrike
