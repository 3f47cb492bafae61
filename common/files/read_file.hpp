/// Files that a user names, read whole: whatever they turn out to be, it ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace heelstrike {

/// A mesh in text of this size has about 20 million elements, the limit of the readers.
inline constexpr std::uint64_t max_file_bytes = 2ULL << 30;

/// What is asked of a file besides its content.
struct ReadLimits {
  std::uint64_t max_bytes = max_file_bytes;
  double reconnect_timeout = 10.0;  ///< [s] > 0 how long a pipe may stay silent
  std::stop_token stop = {};
};

/// Content of a file or of a pipe that somebody writes into.
/// @param what  for messages, e.g. "scenario"
/// @throws Error{invalid_input} when there is no such file, for a folder, a device, and more than `max_bytes`
/// @throws Error{file}          when it cannot be read, and for a pipe that stays silent
/// @throws Error{cancelled}     `stop` was requested
[[nodiscard]] std::string read_file(const std::filesystem::path& path, const std::string& what,
                                    const ReadLimits& limits = {});

}  // namespace heelstrike
