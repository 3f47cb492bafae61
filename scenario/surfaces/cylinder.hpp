/// Circular cylinder, optionally with slices and a core when filled with elements.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/contact/surface.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A slice of a layered cylinder.
struct CylinderLayer {
  std::string name;     ///< element set; not empty, no repetition
  double height = 0.0;  ///< [m] > 0
};
struct CylinderSurface {
  double radius = 0.0;                                      ///< [m] > 0
  Vector3 axis = Vector3::UnitZ();                          ///< [-] unit length
  Vector3 center = Vector3::Zero();                         ///< [m] middle of the axis
  double length = std::numeric_limits<double>::infinity();  ///< [m] > 0; with layers: their sum
  double core_radius = 0.0;             ///< [m] 0 = none, else in (0, radius): element sets "core" and "shell"
  std::vector<CylinderLayer> layers{};  ///< along the axis, from its negative end; element sets by their names

  static constexpr const char* kind = "cylinder";
  /// @returns none for another kind of surface.
  [[nodiscard]] static std::optional<CylinderSurface> of(const Surface& surface);
  operator Surface() const;  // NOLINT(google-explicit-constructor): it is one
};

}  // namespace heelstrike
