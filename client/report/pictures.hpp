/// Charts of a run as files for papers, drawn by gnuplot without a display.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heelstrike::client::report {

enum class PictureFormat { png, svg };

struct PictureStyle {
  PictureFormat format = PictureFormat::png;
  double width_cm = 12.0;  ///< PNG at 300 dots per inch
  double height_cm = 8.0;
  double font_points = 9.0;
};

/// Writes force, indentation, gap, energy and the hysteresis loop of every pair of the run in `folder` to
/// `folder`/pictures, one file each, and of runs with fields the largest contact pressure in plan view with the path of
/// the centre of pressure. Quantities that never change are left out.
/// @returns the files
/// @throws Error{file} when the folder has no time series, gnuplot is not installed or refuses
std::vector<std::filesystem::path> write_pictures(const std::filesystem::path& folder, const PictureStyle& style);

/// Where gnuplot is. @throws Error{file} when it is not installed
[[nodiscard]] std::filesystem::path gnuplot_program();

}  // namespace heelstrike::client::report
