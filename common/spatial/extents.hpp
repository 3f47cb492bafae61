/// Size of a set of points.
#pragma once

#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// [m] edges of the box around `points` along the axes. @pre not empty
[[nodiscard]] Vector3 extents_of(const std::vector<Vector3>& points);

}  // namespace heelstrike
