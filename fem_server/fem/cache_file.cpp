#include "fem_server/fem/cache_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <vector>

#include "common/files/digest.hpp"

namespace heelstrike::fem {

namespace fs = std::filesystem;

fs::path cache_path(const std::string& directory, const std::string& key, std::string_view kind) {
  return fs::path(directory) / fmt::format("{}.{}", key, kind);
}

namespace {

constexpr std::size_t digest_length = 64;

std::string digest_of(std::span<const std::byte> content) {
  return sha256_hex({reinterpret_cast<const char*>(content.data()), content.size()});
}

}  // namespace

void write_cache_file(const fs::path& path, std::string_view magic, std::string_view key,
                      std::span<const std::byte> content) {
  static std::atomic<std::uint64_t> counter{0};  // two sessions of one process may store the same product at once
  std::error_code code;
  if (fs::create_directories(path.parent_path(), code)) {
    fs::permissions(path.parent_path(), fs::perms::owner_all, code);
  }
  const auto temporary = path.string() + fmt::format(".{}.{}.tmp", ::getpid(), counter++);
  {
    std::ofstream file(temporary, std::ios::binary);
    file << magic << key << digest_of(content);
    file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    file.flush();
    if (!file) {
      fs::remove(temporary, code);
      throw file_error(temporary,
                       fmt::format("cannot write the cache file {} ({} bytes); free space or choose another cache "
                                   "folder",
                                   temporary, content.size()));
    }
  }
  fs::rename(temporary, path, code);
  if (code) {
    throw file_error(path.string(),
                     fmt::format("cannot rename {} to {}: {}", temporary, path.string(), code.message()));
  }
  trim_cache(path.parent_path(), path, max_cache_bytes);
}

template <class Content>
std::optional<Content> read_cache_file(const fs::path& path, std::string_view magic, std::string_view key,
                                       std::optional<std::size_t> n, std::string& problem) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const auto discard = [&](const char* why) {
    problem = fmt::format("cache file {} {}; it will be rebuilt", path.string(), why);
    return std::nullopt;
  };
  std::string header(magic.size() + 2 * digest_length, '\0');
  constexpr std::size_t width = sizeof(typename Content::value_type);
  std::error_code code;
  const std::uintmax_t size = fs::file_size(path, code);
  if (code || size < header.size() || (n && size != header.size() + *n * width)) return discard("has the wrong size");
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!file || !header.starts_with(magic)) return discard("is of another kind or version");
  if (header.substr(magic.size(), digest_length) != key) return discard("belongs to another body");
  Content content;
  content.resize((size - header.size()) / width);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(width * content.size()));
  if (!file || header.substr(magic.size() + digest_length) != digest_of(std::as_bytes(std::span(content)))) {
    return discard("is corrupt");
  }
  return content;
}

template std::optional<std::string> read_cache_file(const fs::path&, std::string_view, std::string_view,
                                                    std::optional<std::size_t>, std::string&);
template std::optional<std::vector<double>> read_cache_file(const fs::path&, std::string_view, std::string_view,
                                                            std::optional<std::size_t>, std::string&);

void trim_cache(const fs::path& directory, const fs::path& keep, std::uintmax_t max_bytes) {
  struct Entry {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code code;
  for (const auto& file : fs::directory_iterator(directory, code)) {
    const auto extension = file.path().extension();
    if (extension != ".mesh" && extension != ".compliance" && extension != ".interior") continue;
    const std::uintmax_t bytes = file.file_size(code);
    if (code) continue;  // another process removed it
    entries.push_back({.used = file.last_write_time(code), .bytes = bytes, .path = file.path()});
    total += bytes;
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= max_bytes) return;
    if (entry.path == keep) continue;
    if (fs::remove(entry.path, code)) total -= entry.bytes;
  }
}

void update_access_time(const fs::path& path) noexcept {
  std::error_code code;
  fs::last_write_time(path, fs::file_time_type::clock::now(), code);
}

}  // namespace heelstrike::fem
