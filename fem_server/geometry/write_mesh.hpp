/// Serialisation of meshes; `read_surface` and `read_volume` are the inverse.
#pragma once

#include <string>

#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// Binary STL in metres; coordinates are rounded to single precision, as the format requires. Groups are lost.
[[nodiscard]] std::string write_stl(const SurfaceMesh& mesh);

/// VTU (base64) for ParaView. Element and node sets become arrays "set:NAME" of 0 and 1, face sets field data
/// "faces:NAME" with pairs (element, face). Coordinates keep all bits.
[[nodiscard]] std::string write_vtu(const VolumeMesh& mesh);

/// Gmsh 4.1, ASCII. Every combination of element sets becomes a volume entity, every combination of face sets a surface
/// entity, with physical groups of the same names; node sets that are not face sets are omitted (the format cannot
/// represent them).
[[nodiscard]] std::string write_msh(const VolumeMesh& mesh);

}  // namespace heelstrike::fem
