/// Files of the cache of prepared products: what they have in common.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::fem {

/// `directory/key.kind`
[[nodiscard]] std::filesystem::path cache_path(const std::string& directory, const std::string& key,
                                               std::string_view kind);

/// Writes the parts one after the other under a name of its own and renames, so that the file is there in full or not
/// at all, also when several processes write it at once. Makes the folder when missing, readable by its owner only;
/// then trims it to max_cache_bytes.
/// @throws Error{file} when that cannot be done
void write_cache_file(const std::filesystem::path& path, std::initializer_list<std::string_view> parts);

/// Length of a digest in the heads of cache files: sha256 in hexadecimal.
inline constexpr std::size_t digest_length = 64;

/// Sentence on a file that counts as absent. @param why  predicate, "is damaged"
[[nodiscard]] std::string unusable_cache_file(const std::filesystem::path& path, std::string_view why);

/// Numbers with `magic`, key and digest before them: a file that is short, damaged, of another version or of another
/// key counts as absent.
/// @param n        how many there must be
/// @param problem  set to what is wrong with a file that is there, else left alone
[[nodiscard]] std::optional<std::vector<double>> read_cached_numbers(const std::filesystem::path& path,
                                                                     std::string_view magic, std::string_view key,
                                                                     std::size_t n, std::string& problem);
/// @throws as write_cache_file
void write_cached_numbers(const std::filesystem::path& path, std::string_view magic, std::string_view key,
                          std::span<const double> numbers);

/// Largest size of all cache files of a folder together.
inline constexpr std::uintmax_t max_cache_bytes = std::uintmax_t{10} << 30;

/// Removes those cache files of a folder that were longest not used until the rest takes at most `max_bytes`; `keep`
/// stays. Other files are left alone.
void trim_cache(const std::filesystem::path& directory, const std::filesystem::path& keep, std::uintmax_t max_bytes);

/// Notes that a file was used just now. A folder that is read only does not mind.
void touch_cache_file(const std::filesystem::path& path) noexcept;

}  // namespace heelstrike::fem
