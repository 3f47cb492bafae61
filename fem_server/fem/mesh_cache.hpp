/// Disk cache of tetrahedral meshes, which avoids meshing when a session is reopened.
///
/// One file per key, `<key>.mesh`, beside the compliances (compliance_cache.hpp): a header with key and digest, then
/// the mesh as VTU with all bits of the coordinates. Files are written under a temporary name and renamed; a file that
/// is truncated, corrupt, or of another version or key is treated as absent.
#pragma once

#include <functional>
#include <string>

#include "fem_server/fem/condensation.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Loads the mesh from the cache, or makes and stores it; an empty `directory` disables the cache. A defect of an
/// existing file and an unwritable folder are reported through `progress`; the mesh is made nevertheless.
/// @param key  digest of all inputs of the mesh
[[nodiscard]] VolumeMesh cached_mesh(const std::string& directory, const std::string& key,
                                     const std::function<VolumeMesh()>& make, const Progress& progress);

}  // namespace heelstrike::fem
