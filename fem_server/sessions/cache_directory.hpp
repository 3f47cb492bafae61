/// Where products of preparations (meshes, condensations) are kept.
#pragma once

#include <string>

namespace heelstrike::fem {

/// $XDG_CACHE_HOME/heelstrike, else $HOME/.cache/heelstrike; empty (no cache) when neither variable is set.
[[nodiscard]] std::string default_cache_directory();

}  // namespace heelstrike::fem
