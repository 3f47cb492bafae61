/// Child processes: start, exit status, termination.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/process/descriptor.hpp"

namespace heelstrike {

struct ProcessOptions {
  std::filesystem::path program;            ///< binary
  std::vector<std::string> arguments = {};  ///< without the program itself
  /// A descriptor of this process and its number in the child. Of the others the child inherits those that are not
  /// close-on-exec.
  struct PassedDescriptor {
    int parent, child;
  };
  std::vector<PassedDescriptor> descriptors = {};
};

/// How a program ended.
struct ProcessEnd {
  static constexpr int unknown = -1;  ///< this program ignores SIGCHLD; the kernel then keeps no exit status
  bool by_signal = false;
  int code = 0;  ///< exit code or signal number

  [[nodiscard]] bool success() const { return !by_signal && code == 0; }
  /// "exit code 3" or "signal 9 (Killed)"
  [[nodiscard]] std::string text() const;
};

/// A child process, killed by the destructor if it has not ended. Used from the thread that created it, because the
/// kernel binds the parent-death signal to that thread.
class Process {
 public:
  /// Starts the program in a separate process group, so that Ctrl-C reaches only this program, which then stops the
  /// child. The signal mask of the child is empty.
  /// @throws std::system_error if it cannot be started
  explicit Process(const ProcessOptions& options);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable after the end of the process.
  [[nodiscard]] int descriptor() const { return pid_file_.get(); }
  /// Exit status if the process has ended; waits up to the timeout for the end.
  [[nodiscard]] std::optional<ProcessEnd> ended(std::chrono::milliseconds timeout = {});

  ProcessEnd wait();
  /// Sends a signal unless the process has ended.
  void send(int signal);

 private:
  pid_t pid_ = -1;
  Descriptor pid_file_;  ///< readable when the process has ended
  std::optional<ProcessEnd> end_;
};

/// Waits until a descriptor is readable or closed. @returns false after a timeout
[[nodiscard]] bool wait_readable(int fd, std::chrono::steady_clock::time_point until);

}  // namespace heelstrike
