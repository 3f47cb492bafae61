/// Disk cache of surface compliances, so that a body is condensed once.
///
/// One file per key, `<key>.compliance`, in a folder of the owner of the service. A file is written under a temporary
/// name and renamed; a file that is truncated, corrupt, or of another version or key is treated as absent.
#pragma once

#include <span>
#include <string>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// sha256 of all inputs of the compliance: mesh, materials, support, candidates, version of the method.
[[nodiscard]] std::string compliance_key(const BodyModel& body, const Support& support,
                                         std::span<const std::uint32_t> candidates);

/// Loads the compliance from the cache, or condenses and stores it; an empty `directory` disables the cache. A corrupt
/// file is rebuilt; this and an unwritable folder are reported through `progress`. @throws as condense
[[nodiscard]] SurfaceCompliance cached_compliance(const std::string& directory, const BodyModel& body,
                                                  const Support& support, std::span<const std::uint32_t> candidates,
                                                  const Progress& progress, const std::stop_token& stop,
                                                  const MemoryLimit& limit = {});

}  // namespace heelstrike::fem
