#include "fem_server/sessions/cache_directory.hpp"

#include <cstdlib>

namespace heelstrike::fem {

std::string default_cache_directory() {
  // The base directory specification asks to ignore relative paths.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/heelstrike";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.cache/heelstrike";
  }
  return {};
}

}  // namespace heelstrike::fem
