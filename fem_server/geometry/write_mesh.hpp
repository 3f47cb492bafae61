/// Serialisation of meshes; `read_surface` and `read_volume` are the inverse.
///
/// VTU files for ParaView: meshes with point and cell data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// Array of point or cell data.
struct MeshField {
  std::string name;
  std::string unit;  ///< written as the array's UNITS_LABEL, which ParaView shows
  std::size_t n_components = 1;
  std::vector<double> values;  ///< n_components per point or cell
};

/// Points with triangles, with elements of one kind, or alone.
struct FieldGrid {
  std::vector<Vector3> points;              ///< [m]
  std::uint32_t nodes_per_cell = 3;         ///< 1, 3, or that of an element_topology()
  std::vector<std::uint32_t> connectivity;  ///< nodes_per_cell per cell, as in VolumeMesh
};

/// VTU 1.0, little endian, base64 without compression, readable by VTK 6 and later. Numbers keep all bits.
/// @pre every field has n_components values per point, or per cell
[[nodiscard]] std::string write_fields(const FieldGrid& grid, const std::vector<MeshField>& of_points,
                                       const std::vector<MeshField>& of_cells);

}  // namespace heelstrike::fem
