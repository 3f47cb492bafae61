#include "rpc/server/ready_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/errors/error.hpp"

namespace heelstrike::rpc {

std::string format_ready_line(std::span<const std::string> addresses) {
  return fmt::format("{}\n", fmt::join(addresses, "\t"));
}

std::vector<std::string> parse_ready_line(const std::string& line) {
  std::vector<std::string> addresses;
  std::istringstream stream(line.substr(0, line.find('\n')));
  for (std::string address; std::getline(stream, address, '\t');) addresses.push_back(address);
  return addresses;
}

void write_ready_fd(int fd, std::span<const std::string> addresses) {
  const std::string line = format_ready_line(addresses);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t n = ::write(fd, line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw file_error("ready-fd",
                       fmt::format("cannot write the ready line to file descriptor {}: {}", fd, std::strerror(errno)));
    }
    written += static_cast<std::size_t>(n);
  }
  ::close(fd);
}

void write_ready_file(const std::string& path, std::span<const std::string> addresses) {
  const std::string temporary = path + ".part";
  std::ofstream file(temporary);
  file << format_ready_line(addresses);
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    throw file_error(path, fmt::format("cannot write the ready file '{}': {}", path, std::strerror(errno)));
  }
}

std::vector<std::string> read_ready_fd(int fd, int timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  std::string line;
  while (line.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    const int n_ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(left)) : 0;
    if (n_ready < 0 && errno == EINTR) continue;
    if (n_ready <= 0) {
      throw Error(ErrorCode::deadline, fmt::format("the server did not report readiness within {} ms", timeout_ms));
    }
    char buffer[512];
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw unavailable_error("the server ended before it listened; see its log");
    line.append(buffer, static_cast<std::size_t>(n));
  }
  return parse_ready_line(line);
}

}  // namespace heelstrike::rpc
