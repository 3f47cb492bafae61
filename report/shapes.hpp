/// shapes.json of a run folder: shapes of the bodies without field files, for the 3D view of a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/results/run_folder.hpp"
#include "report/packing.hpp"

namespace heelstrike::report {

/// The displayed triangles of one body.
struct BodyShape {
  std::string body;
  std::string source;                    ///< file, or kind of surface
  std::size_t n_read = 0;                ///< triangles of the surface, or of the boundary of a volume
  std::vector<double> points;            ///< [m] 3 per point, in the frame of the body
  std::vector<std::uint32_t> triangles;  ///< 3 points each
};

/// Triangles of all bodies of a run: below 0.4 MB of a page, and fine enough to appear smooth on a screen.
constexpr std::size_t max_displayed_triangles = 30'000;

/// {shapes: [{body, source, n_read, n_points, points: {low, high, values}, triangles}]}. Coordinates are 16-bit numbers
/// with a resolution of 1/65535 of the extent, finer than a screen shows.
[[nodiscard]] Json shapes_json(std::span<const BodyShape> shapes);
/// Writes no file for a run without such bodies. @throws Error{file}
void write_shapes(RunFolder& folder, std::span<const BodyShape> shapes);
/// The same for a folder without an active run.
void write_shapes(const std::filesystem::path& folder, std::span<const BodyShape> shapes);
/// The list of shapes; empty for a folder without them, also for one of an earlier version.
/// @throws Error{file} for invalid content
[[nodiscard]] Json read_shapes(const std::filesystem::path& folder);

}  // namespace heelstrike::report
