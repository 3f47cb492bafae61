/// Picture of one stance: forces and free moment over per cent of stance, and the centre of pressure in plan view.
#pragma once

#include <string>
#include <vector>

#include "gait/grf_comparison.hpp"

namespace heelstrike::report {

struct StanceFigure {
  const StanceComparison* stance = nullptr;
  Vector3 up = Vector3::Zero();       ///< in the axes of the files: an axis
  std::vector<std::string> given;     ///< components that the run was given
  std::vector<Vector3> ground_moved;  ///< [m] since the start of the stance, one per row; empty = ground at rest
};

/// A whole SVG file without scripts. Measured curves are thin and dark, predicted ones blue, given ones dashed grey.
/// Letters take the colour of the text around them. The plan view is relative to the ground.
[[nodiscard]] std::string stance_svg(const StanceFigure& figure);

}  // namespace heelstrike::report
