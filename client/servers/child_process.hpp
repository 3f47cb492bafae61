/// A program started by this client, e.g. one of the servers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heelstrike::client {

struct ChildOptions {
  std::string name;                    ///< for messages, e.g. "contact server (fem_server)"
  std::filesystem::path program;       ///< binary
  std::vector<std::string> arguments;  ///< without the program itself
  std::filesystem::path log;           ///< its stdout and stderr are appended here; empty = discarded
};

/// Ends the program when it goes out of scope. Used from the thread that made it: the kernel ties "ends with its parent" to
/// that thread.
class ChildProcess {
 public:
  /// Starts the program in a process group of its own, so that Ctrl-C reaches only the client, which then ends it in order.
  /// The program gets file descriptor 3 to say that it is ready (--ready-fd 3).
  /// @throws Error{file} when it cannot be started
  explicit ChildProcess(ChildOptions options);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Waits for the line that says that the program is ready. @returns the line
  /// @throws Error{unavailable} when it ends before, Error{deadline}
  std::string wait_until_ready(std::chrono::milliseconds deadline);

  [[nodiscard]] const std::string& name() const { return options_.name; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// "exit code 3" or "signal 9 (Killed)" once it has ended; looks now, or waits up to `patience` for the end.
  [[nodiscard]] std::optional<std::string> ended(std::chrono::milliseconds patience = {});
  /// Asks it to end, waits up to `grace`, then kills it.
  void stop(std::chrono::milliseconds grace);

 private:
  void close_pipe();

  ChildOptions options_;
  pid_t pid_ = -1;
  int pid_file_ = -1;    ///< readable when the process has ended
  int ready_pipe_ = -1;  ///< our end
  std::optional<std::string> end_;
};

/// Path of another program of this installation: beside the running one, else found by name in PATH.
/// @throws Error{file} saying where was looked
[[nodiscard]] std::filesystem::path sibling_program(const std::string& name);

}  // namespace heelstrike::client
