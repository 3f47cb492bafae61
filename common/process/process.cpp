#include "common/process/process.hpp"

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
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(int code, const std::string& what) {
  throw std::system_error(code, std::generic_category(), what);
}

class SpawnSetup {
 public:
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // This program may block or ignore signals; the child must not inherit that.
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

/// Copies with numbers above all numbers in the child, so that passing one does not overwrite the next and none is
/// duplicated onto itself, which would leave it close-on-exec.
std::vector<Descriptor> duplicate_above(const std::vector<ProcessOptions::InheritedDescriptor>& passed) {
  int first_free = 0;
  for (const auto& descriptor : passed) first_free = std::max(first_free, descriptor.child + 1);
  std::vector<Descriptor> copies;
  for (const auto& descriptor : passed) {
    copies.emplace_back(::fcntl(descriptor.parent, F_DUPFD_CLOEXEC, first_free));
    if (copies.back().get() < 0) fail(errno, "cannot duplicate a file descriptor");
  }
  return copies;
}

}  // namespace

std::string ProcessEnd::text() const {
  if (code == unknown) return "an unknown exit code, because SIGCHLD is ignored";
  if (!by_signal) return fmt::format("exit code {}", code);
  return fmt::format("signal {} ({})", code, sigdescr_np(code));
}

bool wait_readable(int fd, Clock::time_point until) {
  pollfd waiting{fd, POLLIN, 0};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const int n = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n >= 0 || errno != EINTR) return n > 0;
  }
}

Process::Process(const ProcessOptions& options) {
  SpawnSetup setup;
  const std::vector<Descriptor> copies = duplicate_above(options.descriptors);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    posix_spawn_file_actions_adddup2(&setup.actions, copies[i].get(), options.descriptors[i].child);
  }
  // posix_spawn() takes non-const pointers, but does not change the texts.
  std::vector<std::string> texts = options.arguments;
  texts.insert(texts.begin(), options.program.string());
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const int failure =
      ::posix_spawn(&pid_, options.program.c_str(), &setup.actions, &setup.attributes, arguments.data(), environ);
  if (failure != 0) throw std::system_error(failure, std::generic_category());
  // glibc before 2.36 declares pidfd_open for C only.
  pid_file_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (pid_file_.get() >= 0) return;
  const int code = errno;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  fail(code, "it cannot be supervised; Linux 5.3 or newer is required");
}

Process::~Process() {
  send(SIGKILL);
  // Only a process that hangs in the kernel takes longer; waiting would not help.
  (void)ended(std::chrono::seconds(10));
}

std::optional<ProcessEnd> Process::ended(std::chrono::milliseconds timeout) {
  if (!end_ && wait_readable(pid_file_.get(), Clock::now() + timeout)) (void)wait();
  return end_;
}

ProcessEnd Process::wait() {
  siginfo_t info{};
  while (!end_) {
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) == 0) {
      end_ = ProcessEnd{.by_signal = info.si_code != CLD_EXITED, .code = info.si_status};
    } else if (errno != EINTR) {
      end_ = ProcessEnd{.by_signal = false, .code = ProcessEnd::unknown};
    }
  }
  return *end_;
}

void Process::send(int signal) {
  if (!ended()) ::kill(pid_, signal);
}

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int ready_descriptor = 3;

std::string reason(int code) {
  return std::generic_category().message(code);
}

Descriptor open_file(const fs::path& path, int flags) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    throw file_error(path.string(), fmt::format("cannot open {}: {}", path.string(), reason(errno)));
  }
  return file;
}

}  // namespace

ChildProcess::ChildProcess(ChildOptions options) : options_(std::move(options)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw file_error(options_.program.string(), fmt::format("cannot create a pipe: {}", reason(errno)));
  }
  ready_ = Descriptor(ends[0]);
  const Descriptor its_end(ends[1]);
  const Descriptor input = open_file("/dev/null", O_RDONLY);
  const Descriptor output = open_file(options_.log.empty() ? "/dev/null" : options_.log, O_WRONLY | O_CREAT | O_APPEND);
  try {
    process_.emplace(ProcessOptions{.program = options_.program,
                                    .arguments = options_.arguments,
                                    .descriptors = {{.parent = input.get(), .child = STDIN_FILENO},
                                                    {.parent = output.get(), .child = STDOUT_FILENO},
                                                    {.parent = output.get(), .child = STDERR_FILENO},
                                                    {.parent = its_end.get(), .child = ready_descriptor}}});
  } catch (const std::system_error& e) {
    const std::string program = options_.program.string();
    throw file_error(program, fmt::format("cannot start the {} {}: {}", options_.name, program, e.what()));
  }
}

std::string ChildProcess::wait_until_ready(std::chrono::milliseconds deadline) {
  const auto until = Clock::now() + deadline;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    if (!wait_readable(ready_.get(), until)) {
      throw Error(ErrorCode::deadline, fmt::format("the {} did not become ready within {:.1f} s", options_.name,
                                                   std::chrono::duration<double>(deadline).count()));
    }
    std::array<char, 256> part{};
    const ssize_t n = ::read(ready_.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {  // closed: the program has ended or is about to end
      const auto end = ended(std::chrono::seconds(2));
      const std::string what = fmt::format("the {} ended before it was ready, with {}", options_.name,
                                           end ? end->text() : "its ready line missing");
      // The servers end with this code if threads or memory are not available: a restart would end alike.
      constexpr int limit_reached = 3;
      if (end && !end->by_signal && end->code == limit_reached) throw limit_error("", what);
      throw unavailable_error(what);
    }
    line.append(part.data(), static_cast<std::size_t>(n));
  }
  ready_.close();
  return line.substr(0, line.find('\n'));
}

void ChildProcess::stop(std::chrono::milliseconds grace) {
  process_->send(SIGTERM);
  if (ended(grace)) return;
  process_->send(SIGKILL);
  (void)ended(std::chrono::seconds(10));
}

fs::path find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    fs::path candidate = fs::path(folder) / name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

fs::path sibling_program(const std::string& name) {
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored);
  fs::path beside = own.parent_path() / name;
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  if (fs::path found = find_in_path(name); !found.empty()) return found;
  throw file_error(name, fmt::format("program {} not found, neither beside {} nor in PATH; install it, or name running "
                                     "servers with --mbs and --fem, or use --in-process",
                                     name, own.string()));
}

}  // namespace heelstrike
