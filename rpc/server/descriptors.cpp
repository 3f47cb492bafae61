#include "rpc/server/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace heelstrike::rpc {

std::size_t raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;  // the default of Linux
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t reserved_descriptors(std::size_t limit) {
  // A run needs at most four (its file, a reader, its connection, temporary files of libraries), so that 256 suffice
  // for more runs than a server accepts by default.
  return std::clamp<std::size_t>(limit / 4, 16, 256);
}

}  // namespace heelstrike::rpc
