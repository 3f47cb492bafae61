/// A program that this one has started: starting it, learning of its end, ending it.
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
  /// One of our descriptors, and the number under which the program gets it. Of the others it inherits those that are
  /// not close-on-exec.
  struct PassedDescriptor {
    int parent, child;
  };
  std::vector<PassedDescriptor> descriptors = {};
};

/// How a program ended.
struct ProcessEnd {
  static constexpr int unknown = -1;  ///< this program ignores SIGCHLD, and the kernel keeps no ends then
  bool by_signal = false;
  int code = 0;  ///< of the exit, or the signal's number

  [[nodiscard]] bool success() const { return !by_signal && code == 0; }
  /// "exit code 3" or "signal 9 (Killed)"
  [[nodiscard]] std::string text() const;
};

/// Killed when it goes out of scope and has not ended by then. Used from the thread that made it: the kernel ties "ends
/// with its parent" to that thread.
class Process {
 public:
  /// Starts the program in a process group of its own, so that Ctrl-C reaches only this program, which then ends the
  /// other in its own way. Signals that this program blocks are not blocked in the other.
  /// @throws std::system_error when it cannot be started
  explicit Process(const ProcessOptions& options);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable when it has ended.
  [[nodiscard]] int descriptor() const { return pid_file_.get(); }
  /// How it ended, once it has; looks now, or waits up to `patience` for the end.
  [[nodiscard]] std::optional<ProcessEnd> ended(std::chrono::milliseconds reconnect_timeout = {});
  /// Waits for the end.
  ProcessEnd wait();
  /// Sends a signal, unless it has ended.
  void send(int signal);

 private:
  pid_t pid_ = -1;
  Descriptor pid_file_;  ///< readable when the process has ended
  std::optional<ProcessEnd> end_;
};

/// Waits until a descriptor is readable or closed. @returns false when the time was over before
[[nodiscard]] bool wait_readable(int fd, std::chrono::steady_clock::time_point until);

}  // namespace heelstrike
