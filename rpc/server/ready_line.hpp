/// How a server tells its parent where it listens: one line with the bound addresses, separated by tabs.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heelstrike::rpc {

[[nodiscard]] std::string format_ready_line(std::span<const std::string> addresses);
[[nodiscard]] std::vector<std::string> parse_ready_line(const std::string& line);

/// Writes the line to an inherited file descriptor and closes it. @throws Error{file}
void write_ready_fd(int fd, std::span<const std::string> addresses);
/// Writes the line to a file that appears complete (written under another name, then renamed). @throws Error{file}
void write_ready_file(const std::string& path, std::span<const std::string> addresses);

/// Reads the line that a child writes with --ready-fd.
/// @param fd  reading end of a pipe; stays open
/// @throws Error{unavailable} when the child ends without a line, Error{deadline} when none comes within `timeout_ms`
[[nodiscard]] std::vector<std::string> read_ready_fd(int fd, int timeout_ms);

}  // namespace heelstrike::rpc
