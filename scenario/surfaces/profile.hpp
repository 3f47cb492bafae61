/// Planar profile by points, extruded, for planar joint models.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/surfaces/profile_curve.hpp"

namespace heelstrike {

struct ProfileSurface {
  std::vector<Vector2> points{};                           ///< [m] material on the left of the direction of travel
  bool closed = false;                                     ///< the last point is joined to the first
  std::string plane = "xy";                                ///< the two axes of the points: xy, yz or zx
  Vector3 center = Vector3::Zero();                        ///< [m] origin of the points, in the middle of the width
  double width = std::numeric_limits<double>::infinity();  ///< [m] > 0 along the third axis

  static constexpr const char* kind = "profile";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<ProfileSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one

  /// Columns: the two axes of the points and that of the width, right-handed, in the body's frame.
  [[nodiscard]] Matrix3 axes() const;
};

}  // namespace heelstrike
