/// Rectangular block with edges along the axes of the body's frame.
#pragma once

#include <optional>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

struct BlockSurface {
  Vector3 lengths = Vector3::Zero();  ///< [m] > 0 along x, y, z
  Vector3 center = Vector3::Zero();   ///< [m]

  static constexpr const char* kind = "block";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<BlockSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
