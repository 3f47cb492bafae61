/// Cache folder of prepared products (meshes, condensations).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heelstrike::fem {

/// $XDG_CACHE_HOME/heelstrike, else $HOME/.cache/heelstrike; empty (no cache) when neither variable is set.
[[nodiscard]] std::string default_cache_directory();

/// Temporary files of terminated writers.
struct OrphanedFiles {
  std::size_t n = 0;
  std::uintmax_t bytes = 0;
};

/// Removes the temporary files (NAME.PID.N.tmp) of a cache folder whose writers no longer run on this machine, and
/// those not written for an hour, because process numbers are reused.
OrphanedFiles remove_orphaned_files(const std::string& directory);

}  // namespace heelstrike::fem
