/// Ball, or spherical socket.
#pragma once

#include <optional>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

struct SphereSurface {
  double radius = 0.0;               ///< [m] > 0 convex; < 0 concave socket
  Vector3 center = Vector3::Zero();  ///< [m]

  static constexpr const char* kind = "sphere";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<SphereSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
