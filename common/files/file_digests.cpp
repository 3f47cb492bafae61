#include "common/files/file_digests.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"

namespace heelstrike {

namespace {

constexpr const char* digest_key = "sha256";

std::string serialised(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_with_digest(nlohmann::ordered_json json) {
  json.erase(digest_key);
  // Parsed again, so that replacement characters are the same for a reader.
  const std::string digest = sha256_hex(serialised(nlohmann::ordered_json::parse(serialised(json))));
  json[digest_key] = digest;
  return serialised(json);
}

nlohmann::ordered_json parse_with_digest(std::string_view text) {
  // The files of a run have a few levels; nlohmann::json writes nested values recursively.
  constexpr int max_depth = 100;
  using Json = nlohmann::ordered_json;
  return Json::parse(text, [&](int depth, Json::parse_event_t /*event*/, Json& /*parsed*/) {
    if (depth <= max_depth) return true;
    throw file_error("", fmt::format("expected at most {} nested levels, found more", max_depth));
  });
}

DigestState check_digest(nlohmann::ordered_json json) {
  const auto seal = json.find(digest_key);
  if (seal == json.end()) return DigestState::none;
  const nlohmann::ordered_json stored = *seal;
  json.erase(digest_key);
  return stored == sha256_hex(serialised(json)) ? DigestState::intact : DigestState::broken;
}

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* files_key = "files";

/// A JSON file of the folder; none, with a fault, if it is missing or was changed.
/// @param is_new  the folder was written by this version, in which each such file contains its digest
std::optional<Json> sealed_file(const fs::path& folder, const std::string& name, bool is_new, FolderCheck& check) {
  try {
    Json json = parse_with_digest(read_whole_file(folder / name));
    switch (check_digest(json)) {
      case DigestState::intact:
        ++check.n_files;
        return json;
      case DigestState::none:
        if (is_new || json.contains(files_key)) break;
        check.notes.push_back(fmt::format("{}: contains no digests: an earlier version wrote it", name));
        return std::nullopt;
      case DigestState::broken:
        break;
    }
    check.faults.push_back(
        fmt::format("{}: expected the digest of its text, found another: it was changed after it was written", name));
  } catch (const Json::exception& error) {
    check.faults.push_back(fmt::format("{}: expected JSON, found: {}", name, error.what()));
  } catch (const Error& error) {
    check.faults.push_back(fmt::format("{}: {}", name, error.what()));
  }
  return std::nullopt;
}

void check_file(const fs::path& folder, const std::string& name, const std::string& digest, FolderCheck& check) {
  std::error_code ignored;
  if (!fs::exists(folder / name, ignored)) {
    check.faults.push_back(fmt::format("{}: expected a file written by the run, found none", name));
    return;
  }
  try {
    ++check.n_files;
    const std::string found = digest_of_file(folder / name).hex();
    if (found == digest) return;
    check.faults.push_back(fmt::format(
        "{}: expected what the run wrote (sha256 {}), found other bytes (sha256 {}): it was corrupted or changed", name,
        digest, found));
  } catch (const Error& error) {
    check.faults.emplace_back(error.what());
  }
}

void check_files(const fs::path& folder, const Json& json, std::span<const std::string> tables, FolderCheck& check) {
  if (!json.contains(files_key)) return;
  for (const auto& [name, digest] : json.at(files_key).items()) {
    std::error_code ignored;
    const auto exists = [&](const std::string& file) { return fs::exists(folder / file, ignored); };
    const auto other = std::ranges::find_if(tables, exists);
    if (name == "timeseries.csv" && !exists(name) && other != tables.end()) {
      check.notes.push_back(fmt::format("{}: replaced by {}", name, *other));
      continue;
    }
    check_file(folder, name, digest.get<std::string>(), check);
  }
}

void check_checkpoints(const fs::path& folder, bool is_new, FolderCheck& check) {
  std::error_code none;
  for (fs::directory_iterator entry(folder / "checkpoints", none), end; !none && entry != end; entry.increment(none)) {
    if (entry->path().extension() != ".json") continue;
    const std::string name = "checkpoints/" + entry->path().filename().string();
    const auto json = sealed_file(folder, name, is_new, check);
    if (!json || json->at("checkpoint_sha256").get<std::string>().empty()) continue;
    check_file(folder, fs::path(name).replace_extension(".ckpt").string(),
               json->at("checkpoint_sha256").get<std::string>(), check);
  }
}

}  // namespace

Sha256 digest_of_file(const fs::path& file, std::uint64_t n_bytes) {
  std::ifstream stream = open_regular_file(file);
  Sha256 digest;
  std::string block(1U << 20U, '\0');
  std::uint64_t left = n_bytes;
  while (left > 0) {
    stream.read(block.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, block.size())));
    const auto n = static_cast<std::uint64_t>(stream.gcount());
    if (n == 0) break;
    digest.add(std::string_view(block).substr(0, n));
    left -= n;
  }
  if (stream.bad() || (n_bytes != UINT64_MAX && left > 0)) {
    throw file_error(file.string(),
                     fmt::format("{}: expected {} bytes, found {}", file.string(), n_bytes, n_bytes - left));
  }
  return digest;
}

void record_file_digests(const fs::path& folder, std::span<const std::string> names) {
  const fs::path file = folder / "timing.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  Json json;
  try {
    json = parse_with_digest(read_whole_file(file));
  } catch (const Json::exception& error) {
    throw file_error(file.string(), fmt::format("{}: expected the wall times of a run, found: {}; remove the file, or "
                                                "run it again",
                                                file.string(), error.what()));
  }
  for (const std::string& name : names) json[files_key][name] = digest_of_file(folder / name).hex();
  write_whole_file(file, json_with_digest(std::move(json)));
}

FolderCheck check_run_folder(const fs::path& folder, std::span<const std::string> tables) {
  std::error_code ignored;
  if (!fs::exists(folder / "summary.json", ignored)) {
    throw file_error(folder.string(), fmt::format("{}: expected the folder of a completed run, found no summary.json "
                                                  "in it; `heelstrike resume` continues an interrupted run",
                                                  folder.string()));
  }
  FolderCheck check;
  // Unexpected keys, from another version or from corruption, are a fault, not an exception.
  try {
    const auto summary = sealed_file(folder, "summary.json", false, check);
    if (summary) check_files(folder, *summary, tables, check);
    const bool is_new = summary.has_value();
    const auto timing = sealed_file(folder, "timing.json", is_new, check);
    if (timing) check_files(folder, *timing, {}, check);
    check_checkpoints(folder, is_new, check);
  } catch (const Json::exception& error) {
    check.faults.push_back(fmt::format("{}: expected the digests of a run, found: {}", folder.string(), error.what()));
  }
  return check;
}

}  // namespace heelstrike
