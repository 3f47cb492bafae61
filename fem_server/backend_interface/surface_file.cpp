#include "fem_server/backend_interface/surface_file.hpp"

#include "common/spatial/extents.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

ReadOptions read_options(const MeshSurface& surface, const AssetContent& asset, const PrepareContext& context) {
  ReadOptions read;
  read.name = asset.name;
  read.format = surface.format;
  read.length_scale = surface.length_scale;
  read.limits.max_elements = context.max_elements;
  return read;
}

std::optional<Vector3> surface_extents(const Surface& surface, const PrepareContext& context) {
  const SurfaceKind& kind = kind_of(surface);
  if (kind.extents != nullptr) return kind.extents(surface);
  const auto mesh = MeshSurface::of(surface);
  if (!mesh) return std::nullopt;
  const AssetContent& asset = context.asset(mesh->asset());
  const ReadOptions read = read_options(*mesh, asset, context);
  return extents_of(holds_volume(asset.content, read) ? read_volume(asset.content, read).nodes
                                                      : read_surface(asset.content, read).vertices);
}

}  // namespace heelstrike::fem
