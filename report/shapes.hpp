/// shapes.json of a run folder: what the bodies look like that have no field files, for the 3D view of a page.
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

/// The triangles that stand for one body in pictures.
struct BodyShape {
  std::string body;
  std::string source;                    ///< file, or kind of surface
  std::size_t n_read = 0;                ///< triangles of the surface, or of the boundary of a volume
  std::vector<double> points;            ///< [m] 3 per point, in the frame of the body
  std::vector<std::uint32_t> triangles;  ///< 3 points each
};

/// Of all bodies of a run together: below 0.4 MB of a page, and fine enough that no corner is seen on a screen.
constexpr std::size_t shown_triangles = 30'000;

/// {shapes: [{body, source, n_read, n_points, points: {low, high, values}, triangles}]}. Coordinates are 16-bit
/// numbers: a part in 65535 of the extent, finer than a screen shows.
[[nodiscard]] Json shapes_json(std::span<const BodyShape> shapes);
/// Nothing is written for a run without such bodies. @throws Error{file}
void write_shapes(RunFolder& folder, std::span<const BodyShape> shapes);
/// The same into a folder that nobody runs in.
void write_shapes(const std::filesystem::path& folder, std::span<const BodyShape> shapes);
/// The list of shapes; empty for a folder without them, also for one of an earlier version.
/// @throws Error{file} for a file that is something else
[[nodiscard]] Json read_shapes(const std::filesystem::path& folder);

}  // namespace heelstrike::report
