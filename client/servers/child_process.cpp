#include "client/servers/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int ready_descriptor = 3;

// Waits until one of the descriptors is readable or closed, or the time is over. @returns how many are
int wait_readable(std::span<pollfd> descriptors, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const int timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const int n = ::poll(descriptors.data(), descriptors.size(), timeout);
    if (n >= 0 || errno != EINTR) return n;
  }
}

struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

void prepare(SpawnSetup& setup, const fs::path& log, int ready_write_end) {
  const char* output = log.empty() ? "/dev/null" : log.c_str();
  posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&setup.actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, ready_write_end, ready_descriptor);
  // The client blocks SIGINT and SIGTERM to wait for them; the child must not inherit that.
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGTERM);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setsigdefault(&setup.attributes, &defaults);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

std::string describe(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return fmt::format("exit code {}", info.si_status);
  return fmt::format("signal {} ({})", info.si_status, sigdescr_np(info.si_status));
}

}  // namespace

ChildProcess::ChildProcess(ChildOptions options) : options_(std::move(options)) {
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0) {
    throw file_error(options_.program.string(),
                     fmt::format("cannot make a pipe: {}", std::generic_category().message(errno)));
  }
  ready_pipe_ = pipe_ends[0];
  // dup2 onto itself would keep close-on-exec set, so the write end is moved out of the way of descriptor 3.
  const int write_end = ::fcntl(pipe_ends[1], F_DUPFD_CLOEXEC, ready_descriptor + 1);
  ::close(pipe_ends[1]);
  SpawnSetup setup;
  prepare(setup, options_.log, write_end);
  std::vector<char*> arguments;
  std::string program = options_.program.string();
  arguments.push_back(program.data());
  for (std::string& argument : options_.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const int failure =
      ::posix_spawn(&pid_, program.c_str(), &setup.actions, &setup.attributes, arguments.data(), environ);
  ::close(write_end);
  if (failure != 0) {
    close_pipe();
    throw file_error(program, fmt::format("cannot start the {} {}: {}", options_.name, program,
                                          std::generic_category().message(failure)));
  }
  pid_file_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));  // glibc 2.36 declares it for C only
  if (pid_file_ < 0) {
    const int code = errno;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    close_pipe();
    throw file_error(program, fmt::format("cannot supervise the {}: {} (Linux 5.3 or newer is needed)", options_.name,
                                          std::generic_category().message(code)));
  }
}

ChildProcess::~ChildProcess() {
  stop(std::chrono::seconds(5));
  close_pipe();
  ::close(pid_file_);
}

void ChildProcess::close_pipe() {
  if (ready_pipe_ >= 0) ::close(ready_pipe_);
  ready_pipe_ = -1;
}

std::string ChildProcess::wait_until_ready(std::chrono::milliseconds deadline) {
  const auto until = Clock::now() + deadline;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    std::array<pollfd, 1> waiting{pollfd{ready_pipe_, POLLIN, 0}};
    if (wait_readable(waiting, until) <= 0) {
      throw Error(ErrorCode::deadline, fmt::format("the {} did not become ready within {:.1f} s", options_.name,
                                                   std::chrono::duration<double>(deadline).count()));
    }
    std::array<char, 256> part{};
    const ssize_t n = ::read(ready_pipe_, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {  // closed: it has ended or is about to
      const auto end = ended(std::chrono::seconds(2));
      throw unavailable_error(fmt::format("the {} ended before it was ready, with {}", options_.name,
                                          end.value_or("its ready line missing")));
    }
    line.append(part.data(), static_cast<std::size_t>(n));
  }
  close_pipe();
  return line.substr(0, line.find('\n'));
}

std::optional<std::string> ChildProcess::ended(std::chrono::milliseconds patience) {
  if (end_) return end_;
  std::array<pollfd, 1> waiting{pollfd{pid_file_, POLLIN, 0}};
  if (wait_readable(waiting, Clock::now() + patience) <= 0) return std::nullopt;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid_)
    end_ = describe(info);
  return end_;
}

void ChildProcess::stop(std::chrono::milliseconds grace) {
  if (ended()) return;
  ::kill(pid_, SIGTERM);
  if (ended(grace)) return;
  ::kill(pid_, SIGKILL);
  (void)ended(std::chrono::seconds(10));
}

fs::path sibling_program(const std::string& name) {
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path beside = own.parent_path() / name;
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw file_error(name, fmt::format("program {} not found, neither beside {} nor in PATH; install it, or name running "
                                     "servers with --mbs and --fem, or use --in-process",
                                     name, own.string()));
}

}  // namespace heelstrike::client
