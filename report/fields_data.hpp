/// Fields of a run folder (fields.pvd and the VTU files it names) as a page shows them.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/packing.hpp"

namespace heelstrike::report {

struct PointArray {
  std::string name;
  std::string unit;
  std::size_t n_components = 1;
  std::vector<double> values;  ///< n_components per point, or per cell
};

/// An unstructured grid of triangles or tetrahedra.
struct FieldGrid {
  std::vector<double> points;             ///< [m] 3 per point
  std::vector<std::uint32_t> triangles;   ///< 3 points per triangle; of tetrahedra those of the boundary
  std::vector<std::uint32_t> tetrahedra;  ///< 4 corners each
  std::vector<PointArray> arrays;
  std::vector<PointArray> of_triangles;  ///< of the cells, where these are the triangles
};

/// Reads a VTU file as Heelstrike writes it: one piece, binary arrays without compression, 64-bit headers.
/// @throws Error{file} for anything else
[[nodiscard]] FieldGrid parse_vtu(std::string_view text, const std::string& file_name);

/// One entry of a PVD file.
struct FieldFile {
  double time = 0.0;  ///< [s]
  std::string name;   ///< of the series
  std::string file;   ///< relative to the folder
};
/// @throws Error{file}
[[nodiscard]] std::vector<FieldFile> read_field_index(const std::filesystem::path& folder);

/// {parts: [{name, body, times, files, n_points, n_frames, n_recorded, triangles, tetrahedra, points: {low, high,
/// values}, poses, displacement: {low, high, values} or null, quantities: [{name, unit, low, high, values}]}]}.
///
/// `body` is null where the columns do not tell it. A part is shown in a frame P of its own: the axes of the world at
/// its first frame, in the middle of its points. `points` are the undeformed ones in P, `poses` X_WP of every frame as
/// w, x, y, z, px, py, pz, and `displacement` what is added to the points, in P. So a page can enlarge the deformation
/// and move the part between two frames. Values are 16-bit numbers: a part in 65535 of the range of the run, finer than
/// a screen shows. Of other vectors the length is kept. Of more frames than fit into `values_budget` numbers evenly
/// spaced ones are kept, the first, the last and the one with the largest contact pressure among them.
/// @param columns  of the run's time series
/// @throws Error{file} for files that cannot be read or whose cells change with time
[[nodiscard]] Json fields_json(const std::filesystem::path& folder, const std::vector<std::string>& columns,
                               std::size_t values_budget);

}  // namespace heelstrike::report
