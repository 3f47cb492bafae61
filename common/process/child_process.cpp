#include "common/process/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike {
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
      throw unavailable_error(fmt::format("the {} ended before it was ready, with {}", options_.name,
                                          end ? end->text() : "its ready line missing"));
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

fs::path sibling_program(const std::string& name) {
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored);
  fs::path beside = own.parent_path() / name;
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    fs::path candidate = fs::path(folder) / name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw file_error(name, fmt::format("program {} not found, neither beside {} nor in PATH; install it, or name running "
                                     "servers with --mbs and --fem, or use --in-process",
                                     name, own.string()));
}

}  // namespace heelstrike
