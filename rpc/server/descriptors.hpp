/// How many files and connections this process may have open.
#pragma once

#include <cstddef>

namespace heelstrike::rpc {

/// Raises the soft limit of descriptors to the hard one. @returns the limit now in force
std::size_t raise_descriptor_limit() noexcept;

/// Descriptors that connections leave to everything else: spool files, caches, helper programs, connections of our own.
[[nodiscard]] std::size_t reserved_descriptors(std::size_t limit);

}  // namespace heelstrike::rpc
