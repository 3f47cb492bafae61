/// Cells of VTK files (XML and legacy) before conversion to a volume mesh.
///
/// Compressed blocks of VTK XML files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fem_server/geometry/io/mesh_builders.hpp"

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

/// Whether an integer array defines sets: "set:NAME" (1 inside, 0 outside), or a common name of material or group
/// numbers, which yields the sets "ARRAY_VALUE".
[[nodiscard]] bool is_set_array(std::string_view name);

/// Requires non-decreasing offsets within the connectivity. @throws Error{invalid_input}
void check_offsets(const std::string& name, const std::vector<std::int64_t>& offsets, std::size_t n_connectivity);

/// Polygons or strips of one piece.
struct VtkPolygons {
  std::vector<std::int64_t> connectivity;  ///< indices of points
  std::vector<std::int64_t> offsets;       ///< end of each polygon in `connectivity`; checked by check_offsets
};

/// @param first_vertex  index of the piece's point 0 in `builder`
/// @param sets  cell arrays of the polygons, which define groups
/// @throws Error{invalid_input} for an index out of range
void add_polygons(const VtkPolygons& polygons, std::size_t first_vertex, const std::vector<VtkArray>& sets,
                  const ReadOptions& options, SurfaceBuilder& builder);
/// As add_polygons for triangle strips, which belong to no group.
void add_strips(const VtkPolygons& strips, std::size_t first_vertex, const ReadOptions& options,
                SurfaceBuilder& builder);

/// @throws Error{invalid_input} for unsupported cell types or indices out of range
void add_grid(const VtkGrid& grid, const ReadOptions& options, VolumeBuilder& builder);

/// Compression method of the arrays of a file, selected by the attribute `compressor`.
struct VtkCompressor {
  std::string_view name;
  /// Maximum compression ratio of the method; a header that declares more is wrong, or a memory exhaustion attack.
  std::uint64_t max_ratio;
  /// Fills `unpacked`. @return false when `packed` is corrupt or unpacks to a different number of bytes
  bool (*unpack)(std::string_view packed, std::span<char> unpacked);
};

/// Null for an unknown name.
[[nodiscard]] const VtkCompressor* find_vtk_compressor(std::string_view name);

/// "vtkZLibDataCompressor, ...", for messages.
[[nodiscard]] std::string vtk_compressor_names();

}  // namespace heelstrike::fem::io
