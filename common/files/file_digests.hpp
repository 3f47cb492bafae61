/// What the files of a run folder held when they were written, and whether they still do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/files/digest.hpp"

namespace heelstrike {

/// SHA-256 of whole files, by their paths relative to the folder.
using FileDigests = std::map<std::string, std::string>;

/// Digest of the first `n_bytes` of a file, or of all of it. Adds up in a state that more can be added to.
/// @throws Error{file} for a file that cannot be read or is shorter
[[nodiscard]] Sha256 digest_of_file(const std::filesystem::path& file, std::uint64_t n_bytes = UINT64_MAX);

/// Takes files that were made after the end of a run (its page, tables made from its fields) into the digests of
/// timing.json. Nothing in a folder without that file. @throws Error{file}
void record_file_digests(const std::filesystem::path& folder, std::span<const std::string> names);

struct FolderCheck {
  std::size_t n_files = 0;          ///< that were compared with a digest
  std::vector<std::string> faults;  ///< one sentence each, which names the file
  std::vector<std::string> notes;   ///< what could not be compared, and why
};

/// Compares the files of a run that has ended with the digests in its summary.json and timing.json, and those two and
/// its checkpoints with their own.
/// @throws Error{file} for a folder without a summary
[[nodiscard]] FolderCheck check_run_folder(const std::filesystem::path& folder);

}  // namespace heelstrike
