/// Mesh files of surfaces: options of reading and extents of the content.
#pragma once

#include <optional>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "scenario/surfaces/mesh.hpp"

namespace heelstrike::fem {

/// Options for reading the file of a surface.
[[nodiscard]] ReadOptions read_options(const MeshSurface& surface, const AssetContent& asset,
                                       const PrepareContext& context);

/// Edges [m] of the bounding box of a surface; none for planes and other infinite ones. Reads its mesh file.
[[nodiscard]] std::optional<Vector3> surface_extents(const Surface& surface, const PrepareContext& context);

}  // namespace heelstrike::fem
