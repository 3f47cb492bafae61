/// Charts of runs as files for papers, drawn by gnuplot without a display.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scenario/catalog.hpp"

namespace heelstrike::report {

enum class PictureFormat { png, svg, pdf };

struct PictureStyle {
  PictureFormat format = PictureFormat::png;
  double width_cm = 12.0;  ///< PNG at 300 dots per inch
  double height_cm = 8.0;
  double font_points = 9.0;
  /// Of one contact only, by its row in the table of contacts, from 1; none = the whole run.
  std::optional<std::size_t> contact = {};
};

/// Writes force, indentation, gap, energy and the hysteresis loop of every pair of the run in `folder` to
/// `folder`/pictures, one file each, and of runs with fields the largest contact pressure in plan view with the path of
/// the centre of pressure. Quantities that never change are left out. Of one contact there are the curves with a margin
/// of 30 % of its duration, and "_contact1" ends the names.
/// @returns the files
/// @throws Error{file} when the folder has no time series, gnuplot is not installed or refuses; Error{invalid_input}
///         for a contact that the run does not have
std::vector<std::filesystem::path> write_pictures(const std::filesystem::path& folder, const PictureStyle& style,
                                                  const Catalog& catalog);

/// Of a comparison or sweep: the same curves, those of all runs in one chart, one colour per run. Of a quantity with
/// several components the one with the largest range is drawn.
/// @param folder  with comparison.json
std::vector<std::filesystem::path> write_comparison_pictures(const std::filesystem::path& folder,
                                                             const PictureStyle& style);

/// Where gnuplot is. @throws Error{file} when it is not installed
[[nodiscard]] std::filesystem::path gnuplot_program();

}  // namespace heelstrike::report
