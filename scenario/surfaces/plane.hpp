/// Half space below a plane.
#pragma once

#include <optional>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

struct PlaneSurface {
  Vector3 normal = Vector3::UnitZ();  ///< [-] unit length, towards the free side
  Vector3 point = Vector3::Zero();    ///< [m] any point of the plane

  static constexpr const char* kind = "plane";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<PlaneSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
