/// Tetrahedral meshes made by the mesher on disk, so that opening a session again does not mesh again.
///
/// One file per key, `<key>.mesh`, beside the compliances (compliance_cache.hpp): a header with key and digest, then
/// the mesh as VTU with all bits of the coordinates. Written under a temporary name and renamed; a file that is short,
/// damaged, of another version or of another key is treated as absent.
#pragma once

#include <functional>
#include <string>

#include "fem_server/fem/condensation.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// From the cache, or made and stored; an empty `directory` means no cache. What is wrong with a file that is there,
/// and a folder that cannot be written, is said through `progress`: the mesh is made all the same.
/// @param key  digest of everything the mesh depends on
[[nodiscard]] VolumeMesh cached_mesh(const std::string& directory, const std::string& key,
                                     const std::function<VolumeMesh()>& make, const Progress& progress);

}  // namespace heelstrike::fem
