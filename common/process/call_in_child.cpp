#include "common/process/call_in_child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "common/process/process.hpp"

namespace heelstrike {

namespace {

/// What the copy reports: one character for the outcome; after a failure its field, a zero byte and its message.
constexpr char returned = 'r';

std::string outcome_of(const std::function<void()>& work) {
  const auto failed = [](const Error& error) {
    // Codes are few: as a character that is not `returned`.
    std::string report(1, static_cast<char>('A' + static_cast<int>(error.code())));
    return report.append(error.field()).append(1, '\0').append(error.what());
  };
  try {
    work();
    return {returned};
  } catch (const Error& error) {
    return failed(error);
  } catch (const std::exception& error) {
    return failed(untyped_error(error, "defect"));
  }
}

[[noreturn]] void report_outcome(int to, const std::function<void()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  const std::string report = outcome_of(work);
  for (std::string_view rest = report; !rest.empty();) {
    const ssize_t n = ::write(to, rest.data(), rest.size());
    if (n < 0 && errno != EINTR) break;
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  ::_exit(EXIT_SUCCESS);  // the destructors of static objects belong to the original
}

/// A copy of this process, killed by the destructor.
class Copy {
 public:
  explicit Copy(pid_t pid) : pid_(pid) {}
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    (void)wait(0);
  }

  /// @param flags  of waitpid
  bool wait(int flags) {
    if (pid_ <= 0) return true;
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, flags);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    end_ = {.by_signal = WIFSIGNALED(status), .code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)};
    pid_ = -1;
    return true;
  }
  [[nodiscard]] const ProcessEnd& end() const { return end_; }

 private:
  pid_t pid_;
  ProcessEnd end_;
};

std::string read_report(int from, Copy& copy, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds poll{20};
  std::string report;
  std::array<char, 4096> part{};
  // A process that the work started may hold the pipe open: the end of the copy ends the report, too.
  for (bool has_ended = false;;) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped on request");
    if (!wait_readable(from, std::chrono::steady_clock::now() + poll)) {
      if (has_ended) return report;
      has_ended = copy.wait(WNOHANG);
      continue;
    }
    const ssize_t n = ::read(from, part.data(), part.size());
    if (n == 0) return report;
    if (n > 0) report.append(part.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

void call_in_child(const std::string& what, const std::function<void()>& work, const std::stop_token& stop) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) report_outcome(to.get(), work);
  Copy copy(pid);
  to.close();
  const std::string report = read_report(from.get(), copy, stop);
  if (report == std::string(1, returned)) return;
  if (const auto zero = report.find('\0'); zero != std::string::npos) {
    throw_typed(Error(static_cast<ErrorCode>(report[0] - 'A'), report.substr(zero + 1), report.substr(1, zero - 1)));
  }
  while (!copy.wait(0)) {
  }
  throw input_error("", fmt::format("{}: expected code that returns, found that it ended its process with {}; see its "
                                    "documentation, or obtain another version of it",
                                    what, copy.end().text()));
}

}  // namespace heelstrike
