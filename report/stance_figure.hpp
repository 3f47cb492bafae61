/// Figure of one stance: forces and free moment over per cent of stance, and the centre of pressure in plan view.
#pragma once

#include <string>
#include <vector>

#include "gait/grf_comparison.hpp"

namespace heelstrike::report {

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
