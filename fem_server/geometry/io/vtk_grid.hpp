/// Cells of VTK files of both kinds (XML and legacy), before they become a volume mesh.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fem_server/geometry/io/surface_builder.hpp"
#include "fem_server/geometry/io/volume_builder.hpp"

namespace heelstrike::fem::io {

struct VtkArray {
  std::string name;
  std::vector<std::int64_t> values;
};

/// One piece of an unstructured grid.
struct VtkGrid {
  std::vector<double> points;              ///< 3 per point
  std::vector<std::int64_t> connectivity;  ///< indices of points
  std::vector<std::int64_t> offsets;       ///< end of each cell in `connectivity`
  std::vector<std::int64_t> types;         ///< VTK cell types
  std::vector<VtkArray> cell_arrays;       ///< integer, one component
  std::vector<VtkArray> point_arrays;      ///< integer, one component
};

/// Integer array that tells sets: "set:NAME" (1 inside, 0 outside) or one of the usual names of material and group
/// numbers, which gives the sets "ARRAY_VALUE".
[[nodiscard]] bool is_set_array(std::string_view name);

/// Offsets must not fall and must end within the connectivity. @throws Error{invalid_input}
void check_offsets(const std::string& name, const std::vector<std::int64_t>& offsets, std::size_t n_connectivity);

/// Polygons or strips of one piece.
struct VtkPolygons {
  std::vector<std::int64_t> connectivity;  ///< indices of points
  std::vector<std::int64_t> offsets;       ///< end of each polygon in `connectivity`; checked by check_offsets
};

/// @param first_vertex  index of the piece's point 0 in `builder`
/// @param sets  arrays of the polygons' values, which make groups
/// @throws Error{invalid_input} for an index out of range
void add_polygons(const VtkPolygons& polygons, std::size_t first_vertex, const std::vector<VtkArray>& sets,
                  const ReadOptions& options, SurfaceBuilder& builder);
/// Triangle strips, likewise; they belong to no group.
void add_strips(const VtkPolygons& strips, std::size_t first_vertex, const ReadOptions& options,
                SurfaceBuilder& builder);

/// @throws Error{invalid_input} for cells other than tetrahedra and their boundary, or indices out of range
void add_grid(const VtkGrid& grid, const ReadOptions& options, VolumeBuilder& builder);

}  // namespace heelstrike::fem::io
