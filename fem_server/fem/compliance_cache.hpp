/// Disk caches of prepared products, so that a body is meshed and condensed once, and their common file format.
///
/// One file per key in a folder of the owner of the service: `<key>.mesh`, a header with key and digest and then the
/// mesh as VTU with all bits of the coordinates, `<key>.compliance`, `<key>.compressed` and `<key>.modes`. Files are
/// written under a temporary name and renamed; a file that is truncated, corrupt, or of another version or key is
/// treated as absent.
#pragma once

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/vibration_modes.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// `directory/key.kind`
[[nodiscard]] std::filesystem::path cache_path(const std::string& directory, const std::string& key,
                                               std::string_view kind);

/// Writes magic, key, digest of the content and content to a unique temporary file and renames it: the update is
/// atomic, also with concurrent writers. Creates a missing folder, readable by its owner only; then trims it to
/// max_cache_bytes.
/// @throws Error{file} on failure
void write_cache_file(const std::filesystem::path& path, std::string_view magic, std::string_view key,
                      std::span<const std::byte> content);

/// Content of a file. A file that is truncated, corrupt, or of another version or key counts as absent.
/// @tparam Content  std::string or std::vector<double>
/// @param n        required number of elements; none = any number
/// @param problem  set to the defect of an existing file, otherwise unchanged
template <class Content>
[[nodiscard]] std::optional<Content> read_cache_file(const std::filesystem::path& path, std::string_view magic,
                                                     std::string_view key, std::optional<std::size_t> n,
                                                     std::string& problem);

/// Maximum total size of the cache files of a folder.
inline constexpr std::uintmax_t max_cache_bytes = std::uintmax_t{10} << 30;

/// Removes the least recently used cache files of a folder until the rest takes at most `max_bytes`. `keep` and other
/// files are not removed.
void trim_cache(const std::filesystem::path& directory, const std::filesystem::path& keep, std::uintmax_t max_bytes);

/// Updates the access time of a file; failures (e.g. a read-only folder) are ignored.
void update_access_time(const std::filesystem::path& path) noexcept;

/// Caching and reporting of a product of a preparation.
struct CacheEntry {
  std::string key;                 ///< digest of all inputs of the product
  std::string_view kind;           ///< file extension; registered in trim_cache
  std::string_view magic;          ///< first line of its file: kind and version
  std::string_view name;           ///< for messages, "the mesh"
  std::string_view loaded{};       ///< progress stage reported on a cache hit; empty = none
  double begin = 0.0;              ///< progress of the preparation before
  double end = 0.0;                ///< and after the product is made
  std::optional<std::size_t> n{};  ///< number of elements, see read_cache_file
};

/// Lock of one key of a cache folder among processes and threads, so that concurrent runs make a product once. It ends
/// with its holder, also when that process is killed. Without write access to the folder, or on a file system without
/// locks, there is none, and a product may be made twice.
class CacheLock {
 public:
  /// Waits for another holder. @param on_wait  called once before waiting. @throws Error{cancelled} when stopped
  CacheLock(const std::string& directory, const std::string& key, const std::stop_token& stop,
            const std::function<void()>& on_wait);
  ~CacheLock();
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;
  /// True if another holder had it: the product is then probably in the cache.
  [[nodiscard]] bool waited() const { return waited_; }

 private:
  int file_ = -1;
  bool waited_ = false;
};

/// Loads the product from the cache, or makes and stores it; an empty `directory` disables the cache. Of concurrent
/// processes one makes it, and the others wait. A corrupt file is rebuilt; this and an unwritable folder are reported
/// through `progress`. @throws Error{cancelled} when `stop` is requested while waiting; what `make` throws
/// @param unpack  converts content to product; @param pack  converts product to content, or a reference to it
template <class Content, class Make, class Unpack, class Pack>
[[nodiscard]] auto cached(const std::string& directory, const CacheEntry& entry, const Progress& progress,
                          const std::stop_token& stop, const Make& make, const Unpack& unpack, const Pack& pack)
    -> decltype(make()) {
  if (directory.empty()) return make();
  const auto path = cache_path(directory, entry.key, entry.kind);
  std::string problem;
  const auto load = [&] {
    problem.clear();
    auto content = read_cache_file<Content>(path, entry.magic, entry.key, entry.n, problem);
    if (!content) return content;
    update_access_time(path);
    if (!entry.loaded.empty()) progress(entry.loaded, entry.end);
    return content;
  };
  using Product = decltype(make());
  const auto unpacked = [&](std::optional<Content> content) -> std::optional<Product> {
    if (!content) return std::nullopt;
    try {
      return unpack(std::move(*content));
    } catch (const Error& error) {
      problem = fmt::format("cache file {} is unusable ({}); it will be rebuilt", path.string(), error.what());
      return std::nullopt;
    }
  };
  if (auto product = unpacked(load())) return std::move(*product);
  const CacheLock lock(directory, entry.key, stop, [&] {
    progress(fmt::format("waiting for {}, which another run prepares", entry.name), entry.begin);
  });
  if (lock.waited()) {
    if (auto product = unpacked(load())) return std::move(*product);
  }
  if (!problem.empty()) progress(problem, entry.begin);
  auto product = make();
  try {
    const Content& content = pack(product);
    write_cache_file(path, entry.magic, entry.key, std::as_bytes(std::span(content)));
  } catch (const Error& error) {
    progress(fmt::format("{} is not cached: {}", entry.name, error.what()), entry.end);
  }
  return product;
}

/// Loads the mesh from the cache, or makes and stores it; an empty `directory` disables the cache. A defect of an
/// existing file and an unwritable folder are reported through `progress`; the mesh is made nevertheless.
/// @param key  digest of all inputs of the mesh
[[nodiscard]] VolumeMesh cached_mesh(const std::string& directory, const std::string& key,
                                     const std::function<VolumeMesh()>& make, const Progress& progress,
                                     const std::stop_token& stop = {});

/// sha256 of all inputs of the compliance: mesh, materials, support, candidates, version of the method.
/// @param tolerance  [-] of the compression; 0 = dense
[[nodiscard]] std::string compliance_key(const BodyModel& body, const Support& support,
                                         std::span<const std::uint32_t> candidates, double tolerance = 0.0);

/// Loads the compliance from the cache, or condenses and stores it; an empty `directory` disables the cache. A corrupt
/// file is rebuilt; this and an unwritable folder are reported through `progress`. @throws as condense
/// @param tolerance  [-] of the compression; 0 = dense
[[nodiscard]] SurfaceCompliance cached_compliance(const std::string& directory, const BodyModel& body,
                                                  const Support& support, std::span<const std::uint32_t> candidates,
                                                  const Progress& progress, const std::stop_token& stop,
                                                  const MemoryLimit& limit = {}, double tolerance = 0.0);

/// Likewise for the vibration modes. @throws as vibration_modes
[[nodiscard]] VibrationModes cached_modes(const std::string& directory, const BodyModel& body, const Support& support,
                                          std::size_t n_modes, const Progress& progress, const std::stop_token& stop,
                                          const MemoryLimit& limit = {});

}  // namespace heelstrike::fem
