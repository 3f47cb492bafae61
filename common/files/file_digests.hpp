/// Digests of the files of a run folder and their verification, and JSON that contains its own digest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/files/digest.hpp"

namespace heelstrike {

/// Text of the object `json` with a last key `sha256`, the SHA-256 of the text without this key. Invalid UTF-8 is
/// replaced by the replacement character.
[[nodiscard]] std::string json_with_digest(nlohmann::ordered_json json);

/// Parses such a text. @throws nlohmann::json::exception; Error{file} for deep nesting, which could not be written
/// again
[[nodiscard]] nlohmann::ordered_json parse_with_digest(std::string_view text);

enum class DigestState { none, intact, broken };

/// Compares such an object with its digest; `none` = it has no digest, as in earlier versions.
[[nodiscard]] DigestState check_digest(nlohmann::ordered_json json);

/// SHA-256 of whole files by path relative to the folder.
using FileDigests = std::map<std::string, std::string>;

/// Digest of the first `n_bytes` of a file, or of the whole file, to which more can be added.
/// @throws Error{file} for a file that cannot be read or is shorter
[[nodiscard]] Sha256 digest_of_file(const std::filesystem::path& file, std::uint64_t n_bytes = UINT64_MAX);

/// Adds files written after the end of a run (its page, tables of its fields) to the digests of timing.json. Does
/// nothing in a folder without that file.
/// @throws Error{file}
void record_file_digests(const std::filesystem::path& folder, std::span<const std::string> names);

struct FolderCheck {
  std::size_t n_files = 0;          ///< compared with a digest
  std::vector<std::string> faults;  ///< one sentence each, with the name of the file
  std::vector<std::string> notes;   ///< what could not be compared, with the reason
};

/// Compares the files of a completed run with the digests in its summary.json and timing.json, and these two and its
/// checkpoints with the digests they contain.
/// @param tables  files that may replace timeseries.csv; their digests are in timing.json
/// @throws Error{file} for a folder without a summary
[[nodiscard]] FolderCheck check_run_folder(const std::filesystem::path& folder,
                                           std::span<const std::string> tables = {});

}  // namespace heelstrike
