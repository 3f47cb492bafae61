/// Files of the cache of prepared products: what they have in common.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// `directory/key.kind`
[[nodiscard]] std::filesystem::path cache_path(const std::string& directory, const std::string& key,
                                               std::string_view kind);

/// Writes magic, key, digest of the content and content under a name of its own and renames, so that the file is there
/// in full or not at all, also when several processes write it at once. Makes the folder when missing, readable by its
/// owner only; then trims it to max_cache_bytes.
/// @throws Error{file} when that cannot be done
void write_cache_file(const std::filesystem::path& path, std::string_view magic, std::string_view key,
                      std::span<const std::byte> content);

/// The content of a file; one that is short, damaged, of another version or of another key counts as absent.
/// @tparam Content  std::string or std::vector<double>
/// @param n        how many elements there must be; none = any number
/// @param problem  set to what is wrong with a file that is there, else left alone
template <class Content>
[[nodiscard]] std::optional<Content> read_cache_file(const std::filesystem::path& path, std::string_view magic,
                                                     std::string_view key, std::optional<std::size_t> n,
                                                     std::string& problem);

/// Largest size of all cache files of a folder together.
inline constexpr std::uintmax_t max_cache_bytes = std::uintmax_t{10} << 30;

/// Removes those cache files of a folder that were longest not used until the rest takes at most `max_bytes`; `keep`
/// stays. Other files are left alone.
void trim_cache(const std::filesystem::path& directory, const std::filesystem::path& keep, std::uintmax_t max_bytes);

/// Notes that a file was used just now. A folder that is read only does not mind.
void update_access_time(const std::filesystem::path& path) noexcept;

/// How a product of a preparation is kept and told of.
struct CacheEntry {
  std::string key;                 ///< digest of everything that the product depends on
  std::string_view kind;           ///< extension of its file; trim_cache knows it
  std::string_view magic;          ///< first line of its file: kind and version
  std::string_view name;           ///< for messages, "the mesh"
  std::string_view loaded{};       ///< stage that says that it was there; empty = nothing is said
  double begin = 0.0;              ///< part of the preparation that is done before it is made, and
  double end = 0.0;                ///< after
  std::optional<std::size_t> n{};  ///< elements of the content, see read_cache_file
};

/// The product from the cache, or made and stored; an empty `directory` means no cache. A damaged file is made again,
/// which is said through `progress`, as is a folder that cannot be written.
/// @param unpack  product from its content; @param pack  content from the product, or a reference to it
template <class Content, class Make, class Unpack, class Pack>
[[nodiscard]] auto cached(const std::string& directory, const CacheEntry& entry, const Progress& progress,
                          const Make& make, const Unpack& unpack, const Pack& pack) -> decltype(make()) {
  if (directory.empty()) return make();
  const auto path = cache_path(directory, entry.key, entry.kind);
  std::string problem;
  if (auto content = read_cache_file<Content>(path, entry.magic, entry.key, entry.n, problem)) {
    update_access_time(path);
    if (!entry.loaded.empty()) progress(entry.loaded, entry.end);
    return unpack(std::move(*content));
  }
  if (!problem.empty()) progress(problem, entry.begin);
  auto product = make();
  try {
    const Content& content = pack(product);
    write_cache_file(path, entry.magic, entry.key, std::as_bytes(std::span(content)));
  } catch (const Error& error) {
    progress(fmt::format("{} is not kept: {}", entry.name, error.what()), entry.end);
  }
  return product;
}

}  // namespace heelstrike::fem
