/// Page that compares ground reactions with force plates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gait/force_plate.hpp"
#include "gait/grf_comparison.hpp"

namespace heelstrike::report {

struct PageTable {
  std::string heading;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string note;  ///< below it; may be empty
  std::string svg;   ///< figure below the note; may be empty. Also written as a separate file
};

struct GrfPage {
  std::string run;       ///< name of the run
  std::string measured;  ///< name of the file
  std::vector<PageTable> tables;
};

/// Writes `folder`/report.html and `folder`/stance_N.svg, and creates the folder when missing: the tables, and the
/// forces, moments and centres of pressure of the common plates, overlaid over the time of the prediction.
/// @returns its path
/// @throws Error{file}
std::filesystem::path write_grf_report(const std::filesystem::path& folder, const GrfPage& page,
                                       const std::vector<ForcePlate>& measured,
                                       const std::vector<ForcePlate>& predicted);

// Figure of one stance: forces and free moment over per cent of stance, and the centre of pressure in plan view.

struct StanceFigure {
  const StanceComparison* stance = nullptr;
  Vector3 up = Vector3::Zero();       ///< one of the axes of the files
  std::vector<std::string> given;     ///< components prescribed in the run
  std::vector<Vector3> ground_moved;  ///< [m] since the start of the stance, one per row; empty = ground at rest
};

/// A complete SVG file without scripts. Measured curves are thin and dark, predicted ones blue, prescribed ones dashed
/// grey. Text inherits the colour of the surrounding text. The plan view is relative to the ground.
[[nodiscard]] std::string stance_svg(const StanceFigure& figure);

}  // namespace heelstrike::report
