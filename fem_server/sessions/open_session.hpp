/// Opens a session from a specification, for LocalContact and the gRPC service; the cache folder of prepared products
/// (meshes, condensations).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/session.hpp"

namespace heelstrike::fem {

/// sha256 of all inputs of the preparation: back-end, effective parameters, surfaces with the digests of their files,
/// materials. Names of pair and bodies are excluded, so that a state can be restored under another name.
/// @param parameters  effective parameters, as returned by the back-end
[[nodiscard]] std::string pair_digest(const PairSpec& pair, const ParameterMap& parameters);

/// Checks and prepares the pair and opens the session.
/// @throws Error{invalid_input} for an invalid pair, Error{not_found} for a missing asset,
/// Error{cancelled}
[[nodiscard]] std::unique_ptr<Session> open_session(const PairSpec& pair, const PrepareContext& context);

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
