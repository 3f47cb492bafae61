/// Parametric foot.
#pragma once

#include <optional>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Dimensions of a parametric foot. Defaults: rounded values of an adult male foot, see docs/theory/geometry.md.
struct FootDimensions {
  double length = 0.265;         ///< [m] heel to the longest toe, along x
  double ball_breadth = 0.101;   ///< [m] widest part, across the heads of the metatarsals, along y
  double heel_breadth = 0.068;   ///< [m] widest part of the heel
  double arch_height = 0.018;    ///< [m] height of the sole above the ground in the medial quarter of the midfoot
  double instep_height = 0.066;  ///< [m] height of the dorsum of the foot above the ground at half its length
  double toe_height = 0.023;     ///< [m] height of the big toe above the ground
  double ankle_height = 0.078;   ///< [m] ankle joint centre above the ground
  double heel_to_ankle = 0.055;  ///< [m] horizontal distance from the back of the heel to the ankle joint centre
  double cut_height = 0.010;     ///< [m] flat cut above the ankle joint centre
  bool operator==(const FootDimensions&) const = default;
};
/// Its frame has the origin at the ankle joint centre, x forward, y to the left, z up.
struct FootSurface {
  FootDimensions dimensions;
  bool right = false;               ///< mirror image of the left foot
  Vector3 ankle = Vector3::Zero();  ///< [m] ankle joint centre in the body frame

  static constexpr const char* kind = "foot";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<FootSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
