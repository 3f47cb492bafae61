/// Fields of a run folder (fields.pvd and its VTU files) for display in a page.
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
  std::vector<PointArray> of_triangles;  ///< cell data, if the cells are triangles
};

/// Reads a VTU file in the format of Heelstrike: one piece, binary arrays without compression, 64-bit headers.
/// @throws Error{file} for any other content
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
/// `body` is null where the columns do not determine it. A part is expressed in a frame P: world axes at its first
/// frame, origin at the centre of its points. `points` are the undeformed points in P, `poses` X_WP of every frame as
/// w, x, y, z, px, py, pz, and `displacement` the displacement of the points in P. A page can thus scale the
/// deformation and interpolate the motion. Values are 16-bit numbers with a resolution of 1/65535 of the range of the
/// run, finer than a screen shows. Other vectors are reduced to their length. If the frames exceed `values_budget`
/// numbers, evenly spaced frames are stored, including the first, the last and the one of peak contact pressure.
/// @param columns  of the run's time series
/// @throws Error{file} for files that cannot be read or whose cells change with time
[[nodiscard]] Json fields_json(const std::filesystem::path& folder, const std::vector<std::string>& columns,
                               std::size_t values_budget);

}  // namespace heelstrike::report
