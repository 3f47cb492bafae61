/// Mesh files of surfaces: how they are read, and how large what they hold is.
#pragma once

#include <optional>

#include "scenario/surfaces/mesh.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/geometry/read_mesh.hpp"

namespace heelstrike::fem {

/// How the file of a surface is read.
[[nodiscard]] ReadOptions read_options(const MeshSurface& surface, const AssetContent& asset,
                                       const PrepareContext& context);

/// Edges [m] of the box around a surface; none for a plane and other endless ones. Reads the mesh that it names.
[[nodiscard]] std::optional<Vector3> surface_extents(const Surface& surface, const PrepareContext& context);

}  // namespace heelstrike::fem
