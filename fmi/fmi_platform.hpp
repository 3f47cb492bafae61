/// Folders of the binaries of FMUs for the system that this program was compiled for: in FMI 3.0 platform tuples
/// (https://fmi-standard.org/docs/3.0.2, section 2.5.1.4), in FMI 2.0 separate names for processors of the x86 family
/// and the tuples for all others.
#pragma once

namespace heelstrike {

#if defined(__linux__) && defined(__x86_64__)
inline constexpr const char* fmi2_binaries = "binaries/linux64";
inline constexpr const char* fmi3_binaries = "binaries/x86_64-linux";
#elif defined(__linux__) && defined(__aarch64__)
inline constexpr const char* fmi2_binaries = "binaries/aarch64-linux";
inline constexpr const char* fmi3_binaries = "binaries/aarch64-linux";
#else
#error "FMI: the binary folder names of this platform are not defined"
#endif

}  // namespace heelstrike
