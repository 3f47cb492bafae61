/// Versions of the program and of the wire contract.
#pragma once

#include <cstdint>
#include <string_view>

namespace heelstrike {

/// Program version as in the top-level CMakeLists.txt, e.g. "0.1.0". Set by the build of common_base.
inline constexpr std::string_view program_version = HEELSTRIKE_VERSION;

/// Version of proto/heelstrike/v1. Must be equal on both sides; incremented by every change that an older peer would
/// misinterpret.
inline constexpr std::uint32_t contract_version = 3;

}  // namespace heelstrike
