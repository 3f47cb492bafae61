/// The ready line, by which a server reports its bound addresses to its parent, separated by tabs.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heelstrike::rpc {

[[nodiscard]] std::string format_ready_line(std::span<const std::string> addresses);
[[nodiscard]] std::vector<std::string> parse_ready_line(const std::string& line);

/// Writes the line to an inherited file descriptor and closes it. @throws Error{file}
void write_ready_fd(int fd, std::span<const std::string> addresses);
/// Writes the line to a file that appears complete (by renaming). @throws Error{file}
void write_ready_file(const std::string& path, std::span<const std::string> addresses);

/// Reads the line that a child writes with --ready-fd.
/// @param fd  reading end of a pipe; stays open
/// @throws Error{unavailable} if the child ends without a line, Error{deadline} after `timeout_ms`
[[nodiscard]] std::vector<std::string> read_ready_fd(int fd, int timeout_ms);

}  // namespace heelstrike::rpc
