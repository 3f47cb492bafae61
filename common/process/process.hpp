/// Child processes: start, exit status, termination, and file descriptors that their owner closes.
#pragma once

#include <sys/types.h>
#include <unistd.h>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heelstrike {

class Descriptor {
 public:
  /// @param fd  owned from now on; negative = none
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct ProcessOptions {
  std::filesystem::path program;            ///< binary
  std::vector<std::string> arguments = {};  ///< without the program itself
  /// A descriptor of this process and its number in the child. Of the others the child inherits those that are not
  /// close-on-exec.
  struct InheritedDescriptor {
    int parent, child;
  };
  std::vector<InheritedDescriptor> descriptors = {};
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

  /// Waits for the ready line. @returns the line @throws Error{unavailable} if the program ends before, Error{limit}
  /// if it does so because threads or memory are not available (exit code 3), Error{deadline}
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

/// A program in the folders of PATH; empty = there is none.
[[nodiscard]] std::filesystem::path find_in_path(const std::string& name);

/// Path of another program of this installation: beside the running one, else found by name in PATH.
/// @throws Error{file} with the searched places
[[nodiscard]] std::filesystem::path sibling_program(const std::string& name);

}  // namespace heelstrike
