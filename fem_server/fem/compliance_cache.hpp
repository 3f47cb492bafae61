/// Surface compliances on disk, so that a condensation is paid once.
///
/// One file per key, `<key>.compliance`, in a folder of the service's owner. A file is written under a temporary name
/// and renamed; a file that is short, damaged, of another version or of another key is treated as absent.
#pragma once

#include <span>
#include <string>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// sha256 of everything the compliance depends on: mesh, materials, support, candidates, version of the method.
[[nodiscard]] std::string compliance_key(const BodyModel& body, const Support& support,
                                         std::span<const std::uint32_t> candidates);

/// From the cache, or condensed and stored; an empty `directory` means no cache. A damaged file is rebuilt, which is
/// said through `progress`, as is a folder that cannot be written. @throws as condense
[[nodiscard]] SurfaceCompliance cached_compliance(const std::string& directory, const BodyModel& body,
                                                  const Support& support, std::span<const std::uint32_t> candidates,
                                                  const Progress& progress, const std::stop_token& stop,
                                                  const MemoryLimit& limit = {});

}  // namespace heelstrike::fem
