/// Bounded reading of whole files that a user names, for every type of file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace heelstrike {

/// A mesh in text of this size has about 20 million elements, the limit of the readers.
inline constexpr std::uint64_t max_file_bytes = 2ULL << 30;

/// Limits of reading.
struct ReadLimits {
  std::uint64_t max_bytes = max_file_bytes;
  double timeout = 10.0;  ///< [s] > 0 longest time without data from a pipe
  std::stop_token stop = {};
};

/// Content of a file or of a pipe.
/// @param what  for messages, e.g. "scenario"
/// @throws Error{invalid_input} for a missing file, a folder, a device, a pointer of Git LFS, and
///         more than `max_bytes`
/// @throws Error{file} if it cannot be read, and for a pipe without data
/// @throws Error{cancelled}     `stop` was requested
[[nodiscard]] std::string read_file(const std::filesystem::path& path, const std::string& what,
                                    const ReadLimits& limits = {});

}  // namespace heelstrike
