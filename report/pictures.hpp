/// Charts of runs as files for publications, drawn by gnuplot without a display.
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
  /// Row of one contact in the table of contacts, from 1; none = the window that the page opens with.
  std::optional<std::size_t> contact = {};
  bool whole_run = false;  ///< without `contact`: all times
};

/// Writes force, indentation, gap, energy and the hysteresis loop of every pair of the run in `folder` to
/// `folder`/pictures, one file each, and for runs with fields the peak contact pressure in plan view with the path of
/// the centre of pressure. Constant quantities are omitted. Units are those of the page. For one contact, the curves
/// have a margin of 30 % of its duration, and the names end with "_contact1".
/// @returns the files
/// @throws Error{file} when the folder has no time series, gnuplot is not installed or fails; Error{invalid_input} for
/// an unknown contact
std::vector<std::filesystem::path> write_pictures(const std::filesystem::path& folder, const PictureStyle& style,
                                                  const Catalog& catalog);

/// The same curves of a comparison or sweep, all runs in one chart, one colour per run. For a quantity with several
/// components, the one with the largest range is drawn.
/// @param folder  with comparison.json
std::vector<std::filesystem::path> write_comparison_pictures(const std::filesystem::path& folder,
                                                             const PictureStyle& style, const Catalog& catalog);

/// Path of gnuplot. @throws Error{file} when it is not installed
[[nodiscard]] std::filesystem::path gnuplot_program();

}  // namespace heelstrike::report
