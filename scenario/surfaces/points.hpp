/// Points with areas instead of a surface.
#pragma once

#include <optional>
#include <vector>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

struct PointCloudSurface {
  std::vector<Vector3> points;  ///< [m]
  std::vector<double> areas;    ///< [m^2] tributary area of each point

  static constexpr const char* kind = "points";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<PointCloudSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
