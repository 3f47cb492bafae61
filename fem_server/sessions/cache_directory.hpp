/// Where products of preparations (meshes, condensations) are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heelstrike::fem {

/// $XDG_CACHE_HOME/heelstrike, else $HOME/.cache/heelstrike; empty (no cache) when neither variable is set.
[[nodiscard]] std::string default_cache_directory();

/// What writers that were killed have left behind.
struct OrphanedFiles {
  std::size_t n = 0;
  std::uintmax_t bytes = 0;
};

/// Removes the temporary files (NAME.PID.N.tmp) of a cache folder whose writers are no longer alive on this machine,
/// and those that nobody has written for an hour: process numbers are used again.
OrphanedFiles remove_orphaned_files(const std::string& directory);

}  // namespace heelstrike::fem
