/// One function per file format; called by read_surface and read_volume. Coordinates in file units.
#pragma once

#include <string_view>

#include "fem_server/geometry/io/mesh_builders.hpp"
#include "fem_server/geometry/read_mesh.hpp"

namespace heelstrike::fem::io {

[[nodiscard]] SurfaceMesh read_stl(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] SurfaceMesh read_obj(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] SurfaceMesh read_ply(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] SurfaceMesh read_collada(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] SurfaceMesh read_vtp(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] SurfaceMesh read_vtk_legacy_surface(std::string_view bytes, const ReadOptions& options);

[[nodiscard]] VolumeMesh read_gmsh(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] VolumeMesh read_abaqus(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] VolumeMesh read_vtu(std::string_view bytes, const ReadOptions& options);
[[nodiscard]] VolumeMesh read_vtk_legacy(std::string_view bytes, const ReadOptions& options);

/// Whether a legacy VTK file declares polygons.
[[nodiscard]] bool is_vtk_legacy_surface(std::string_view bytes);

}  // namespace heelstrike::fem::io
