#include "fem_server/fem/mesh_cache.hpp"

#include <optional>

#include "fem_server/fem/cache_file.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/write_mesh.hpp"

namespace heelstrike::fem {

VolumeMesh cached_mesh(const std::string& directory, const std::string& key, const std::function<VolumeMesh()>& make,
                       const Progress& progress) {
  const CacheEntry entry{.key = key, .kind = "mesh", .magic = "heelstrike mesh 1\n", .name = "the mesh"};
  const auto unpack = [&](const std::string& content) {
    ReadOptions options;
    options.name = cache_path(directory, key, entry.kind).string();
    options.format = "vtu";
    return read_volume(content, options);
  };
  return cached<std::string>(directory, entry, progress, make, unpack,
                             [](const VolumeMesh& mesh) { return write_vtu(mesh); });
}

}  // namespace heelstrike::fem
