#include "fem_server/fem/cache_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace fs = std::filesystem;

fs::path cache_path(const std::string& directory, const std::string& key, std::string_view kind) {
  return fs::path(directory) / fmt::format("{}.{}", key, kind);
}

void write_cache_file(const fs::path& path, std::initializer_list<std::string_view> parts) {
  static std::atomic<std::uint64_t> counter{0};  // two sessions of one process may store the same product at once
  std::error_code code;
  if (fs::create_directories(path.parent_path(), code)) {
    fs::permissions(path.parent_path(), fs::perms::owner_all, code);
  }
  const auto temporary = path.string() + fmt::format(".{}.{}.tmp", ::getpid(), counter++);
  std::size_t bytes = 0;
  {
    std::ofstream file(temporary, std::ios::binary);
    for (const std::string_view part : parts) {
      file.write(part.data(), static_cast<std::streamsize>(part.size()));
      bytes += part.size();
    }
    file.flush();
    if (!file) {
      fs::remove(temporary, code);
      throw file_error(temporary,
                       fmt::format("cannot write the cache file {} ({} bytes); free space or choose another cache "
                                   "folder",
                                   temporary, bytes));
    }
  }
  fs::rename(temporary, path, code);
  if (code) {
    throw file_error(path.string(),
                     fmt::format("cannot rename {} to {}: {}", temporary, path.string(), code.message()));
  }
  trim_cache(path.parent_path(), path, max_cache_bytes);
}

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
    if (extension != ".mesh" && extension != ".compliance") continue;
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

void touch_cache_file(const fs::path& path) noexcept {
  std::error_code code;
  fs::last_write_time(path, fs::file_time_type::clock::now(), code);
}

}  // namespace heelstrike::fem
