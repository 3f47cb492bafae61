#include "fem_server/fem/cache_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <vector>

#include "common/config/digest.hpp"
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

std::string unusable_cache_file(const fs::path& path, std::string_view why) {
  return fmt::format("cache file {} {}; it will be rebuilt", path.string(), why);
}

namespace {

std::string_view as_bytes(std::span<const double> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

std::optional<std::vector<double>> read_cached_numbers(const fs::path& path, std::string_view magic,
                                                       std::string_view key, std::size_t n, std::string& problem) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const auto reject = [&](const char* why) {
    problem = unusable_cache_file(path, why);
    return std::nullopt;
  };
  std::string header(magic.size() + 2 * digest_length, '\0');
  std::error_code code;
  if (fs::file_size(path, code) != header.size() + n * sizeof(double) || code) return reject("has the wrong size");
  std::vector<double> numbers(n);
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  if (!file || !header.starts_with(magic)) return reject("is of another kind or version");
  if (header.substr(magic.size(), digest_length) != key) return reject("belongs to another body");
  file.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(n * sizeof(double)));
  if (!file || header.substr(magic.size() + digest_length) != sha256_hex(as_bytes(numbers))) {
    return reject("is damaged");
  }
  return numbers;
}

void write_cached_numbers(const fs::path& path, std::string_view magic, std::string_view key,
                          std::span<const double> numbers) {
  const std::string_view bytes = as_bytes(numbers);
  write_cache_file(path, {magic, key, sha256_hex(bytes), bytes});
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

void touch_cache_file(const fs::path& path) noexcept {
  std::error_code code;
  fs::last_write_time(path, fs::file_time_type::clock::now(), code);
}

}  // namespace heelstrike::fem
