/// Limits of open files and connections of this process.
#pragma once

#include <cstddef>

namespace heelstrike::rpc {

/// Raises the soft limit of descriptors to the hard one. @returns the new limit
std::size_t raise_descriptor_limit() noexcept;

/// Descriptors reserved for everything except incoming connections: spool files, caches, helper programs, outgoing
/// connections.
[[nodiscard]] std::size_t reserved_descriptors(std::size_t limit);

}  // namespace heelstrike::rpc
