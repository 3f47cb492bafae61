/// How far a point surely is from being behind a surface, read from a grid that was worked out beforehand.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

/// The answer at the centre of a cell holds for a point of the cell when it is made smaller by the distance between the
/// two: within a sphere that nothing is behind the surface in, nothing of a smaller sphere inside it is. Costs one read
/// instead of a search. Thread-safe.
class ClearanceGrid {
 public:
  /// Knows nothing.
  ClearanceGrid() = default;
  /// @param low, high  [m] corners of the box that it knows about, low < high
  /// @param clear      [m] radius of a sphere about a point with nothing behind the surface, <= 0 = none is known
  ClearanceGrid(const Vector3& low, const Vector3& high, const std::function<double(const Vector3&)>& clear);

  /// [m] > 0: no point nearer to q than this is behind the surface; <= 0: perhaps one is; none = q is outside the box.
  [[nodiscard]] std::optional<double> about(const Vector3& q) const;

 private:
  [[nodiscard]] Vector3 centre(const std::array<std::size_t, 3>& cell) const;

  Vector3 low_ = Vector3::Zero();
  double edge_ = 1.0;               ///< [m] of a cell
  double cells_per_length_ = 1.0;   ///< [1/m]
  std::array<std::size_t, 3> n_{};  ///< cells along each axis
  std::vector<float> clear_;        ///< [m] at their centres, rounded down
};

}  // namespace heelstrike::fem
