/// How far a point surely is from being behind a surface, read from a grid that is worked out as it is asked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

/// The answer at the centre of a cell holds for a point of the cell when it is made smaller by the distance between the
/// two: within a sphere that nothing is behind the surface in, nothing of a smaller sphere inside it is. Costs one read
/// instead of a search, but for the first question about a cell. Thread-safe.
class ClearanceGrid {
 public:
  /// Knows nothing.
  ClearanceGrid() = default;
  /// @param low, high  [m] corners of the box that it knows about, low < high
  /// @param clear      [m] radius of a sphere about a point with nothing behind the surface, <= 0 = none is known;
  ///                   `near`, a triangle close by, may change its time and not its answer. Called from any thread
  ClearanceGrid(const Vector3& low, const Vector3& high,
                std::function<double(const Vector3& point, std::uint32_t near)> clear);

  /// [m] > 0: no point nearer to q than this is behind the surface; <= 0: perhaps one is; none = q is outside the box.
  [[nodiscard]] std::optional<double> about(const Vector3& q, std::uint32_t near) const;

 private:
  Vector3 low_ = Vector3::Zero();
  double edge_ = 1.0;                ///< [m] of a cell
  double cells_per_length_ = 1.0;    ///< [1/m]
  std::array<std::int32_t, 3> n_{};  ///< cells along each axis
  std::function<double(const Vector3&, std::uint32_t)> find_;
  /// [m] at their centres, rounded down; not a number = not asked for yet. Threads that ask at once find the same.
  std::unique_ptr<std::atomic<float>[]> clear_;
};

}  // namespace heelstrike::fem
