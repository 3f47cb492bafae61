#include "common/files/read_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/files/git_lfs.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class OpenFile {
 public:
  OpenFile(const fs::path& path, std::string what, const ReadLimits& limits)
      : name_(path.string()), what_(std::move(what)), limits_(limits) {
    // Without O_NONBLOCK opening a pipe waits for a writer.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0 && errno == ENOENT) {
      throw input_error(name_, fmt::format("{}: file {} does not exist", what_, name_));
    }
    if (fd_ < 0) fail_system();
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  void check_kind() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail_system();
    if (S_ISDIR(status.st_mode)) {
      throw input_error(name_, fmt::format("{}: expected a file, found the folder {}", what_, name_));
    }
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
      throw input_error(name_, fmt::format("{}: expected a file, found the device {}", what_, name_));
    }
    if (S_ISREG(status.st_mode)) check_size(static_cast<std::uint64_t>(status.st_size));
  }

  std::string content() {
    std::string bytes;
    std::string buffer(1U << 20U, '\0');
    auto last = Clock::now();
    while (true) {
      if (limits_.stop.stop_requested()) {
        throw Error(ErrorCode::cancelled, fmt::format("{}: reading of {} was cancelled", what_, name_));
      }
      const ssize_t n = ::read(fd_, buffer.data(), buffer.size());
      if (n > 0) {
        bytes.append(buffer, 0, static_cast<std::size_t>(n));
        check_size(bytes.size());
        last = Clock::now();
      } else if (n == 0 && (!bytes.empty() || !is_idle_pipe())) {
        return bytes;
      } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        fail_system();
      } else {
        wait(std::chrono::duration<double>(Clock::now() - last).count());
      }
    }
  }

 private:
  [[noreturn]] void fail_system() const {
    const std::string why = std::generic_category().message(errno);
    throw file_error(name_, fmt::format("{}: file {} cannot be read: {}", what_, name_, why));
  }

  void check_size(std::uint64_t size) const {
    if (size <= limits_.max_bytes) return;
    throw input_error(name_,
                      fmt::format("{}: expected at most {} MiB, found {}{} MiB in {}", what_, limits_.max_bytes >> 20U,
                                  is_idle_pipe() ? "more than " : "", size >> 20U, name_));
  }

  [[nodiscard]] bool is_idle_pipe() const {
    struct stat status {};
    return ::fstat(fd_, &status) == 0 && S_ISFIFO(status.st_mode) && !is_hung_up();
  }
  /// True after the writers of the pipe have closed it.
  [[nodiscard]] bool is_hung_up() const {
    pollfd entry{fd_, POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLHUP) != 0;
  }

  void wait(double reply_watchdog) const {
    if (reply_watchdog > limits_.timeout) {
      throw file_error(name_, fmt::format("{}: expected a file, found the pipe {} without data for {:g} s", what_,
                                          name_, limits_.timeout));
    }
    constexpr int step_ms = 50;
    pollfd entry{fd_, POLLIN, 0};
    ::poll(&entry, 1, step_ms);
  }

  std::string name_;
  std::string what_;
  const ReadLimits& limits_;
  int fd_ = -1;
};

}  // namespace

std::string read_file(const fs::path& path, const std::string& what, const ReadLimits& limits) {
  OpenFile file(path, what, limits);
  file.check_kind();
  std::string content = file.content();
  if (is_git_lfs_pointer(content)) {
    throw input_error(path.string(),
                      fmt::format("{}: expected the content of {}, found {}", what, path.string(), git_lfs_remedy));
  }
  return content;
}

}  // namespace heelstrike
