#include "rpc/server/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace heelstrike::rpc {

std::size_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;  // what Linux gives when nobody says otherwise
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t reserved_descriptors(std::size_t limit) {
  // A run takes four at most (its file, a reader, its connection, what libraries open for a moment), so 256 serve more
  // runs than a server takes by default.
  return std::clamp<std::size_t>(limit / 4, 16, 256);
}

}  // namespace heelstrike::rpc
