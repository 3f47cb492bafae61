/// Page that compares ground reactions with force plates.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "gait/grf_comparison.hpp"

namespace heelstrike::report {

/// Figure of one stance: forces and free moment over per cent of stance, and the centre of pressure in plan view.
struct StanceFigure {
  const StanceComparison* stance = nullptr;
  Vector3 up = Vector3::Zero();           ///< one of the axes of the files
  std::array<std::string, 3> directions;  ///< of the axes, see direction_names
  std::vector<std::string> given;         ///< components prescribed in the run
  std::vector<Vector3> ground_moved;      ///< [m] since the start of the stance, one per row; empty = ground at rest
};

/// A complete SVG file without scripts. Measured curves are thin and dark, predicted ones blue, prescribed ones dashed
/// grey. Text inherits the colour of the surrounding text. The plan view is relative to the ground.
[[nodiscard]] std::string stance_svg(const StanceFigure& figure);
/// The plan view alone, twice: for wide and for narrow screens, of which the style sheet shows one. Empty without
/// centres of pressure.
[[nodiscard]] std::string plan_view_svg(const StanceFigure& figure);

/// Table of one stance.
struct PageTable {
  std::string heading;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string note;  ///< below it; may be empty
  StanceFigure figure;
};

struct GrfPage {
  std::string run;       ///< name of the run
  std::string measured;  ///< name of the file
  std::vector<PageTable> tables;
};

/// Writes `folder`/report.html and `folder`/stance_N.svg, and creates the folder when missing: for every stance the
/// table, forces and free moment of both over per cent of stance, and the centres of pressure in plan view.
/// @returns its path
/// @throws Error{file}
std::filesystem::path write_grf_report(const std::filesystem::path& folder, const GrfPage& page);

}  // namespace heelstrike::report
