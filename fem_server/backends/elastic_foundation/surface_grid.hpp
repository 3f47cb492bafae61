/// Remeshing of a casting surface by a rectangular grid, as in Bei and Fregly's model [bei2004]: a grid in a plane,
/// projected on the surface.
///
/// Lower bound of the distance of a point from the region behind a surface, from a grid evaluated on demand.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// A grid across an axis of the body's frame, over the whole surface.
struct SurfaceGrid {
  Eigen::Index axis = 2;                   ///< 0 to 2 for x to z
  double side = 1.0;                       ///< 1 or -1: the end of the axis from which the surface is projected
  std::array<std::size_t, 2> cells{1, 1};  ///< along the next axis of x, y, z (cyclic), and along the one after it
};

/// Two triangles for each cell whose corners and centre hit the surface when projected along the axis; a cell over the
/// rim or over a gap has none. Of several parts behind each other the first one is used. Sets of triangles are those at
/// the centres.
/// @param where  key, for messages
/// @throws Error{invalid_input} when no cell hits the surface
[[nodiscard]] SurfaceMesh over_grid(const SurfaceMesh& surface, const SurfaceGrid& grid, const std::string& where);

/// The value at the centre of a cell, reduced by the distance of a point from the centre, holds for that point: if a
/// sphere contains no part of the region behind the surface, neither does a smaller sphere inside it. Costs one read
/// instead of a search, except for the first query of a cell. Thread-safe.
class ClearanceGrid {
 public:
  /// Empty grid.
  ClearanceGrid() = default;
  /// @param low, high  [m] corners of the box covered by the grid, low < high
  /// @param clear      [m] radius of a sphere around a point with nothing behind the surface, <= 0 = none is known;
  ///                   `near`, a triangle close by, may affect its time but not its result. Called from any thread
  ClearanceGrid(const Vector3& low, const Vector3& high,
                std::function<double(const Vector3& point, std::uint32_t near)> clear);

  /// [m] > 0: no point nearer to q than this is behind the surface; <= 0: no bound; none = q is outside the box.
  [[nodiscard]] std::optional<double> about(const Vector3& q, std::uint32_t near) const;

 private:
  Vector3 low_ = Vector3::Zero();
  double edge_ = 1.0;                ///< [m] of a cell
  double cells_per_length_ = 1.0;    ///< [1/m]
  std::array<std::int32_t, 3> n_{};  ///< cells along each axis
  std::function<double(const Vector3&, std::uint32_t)> find_;
  /// [m] at the centres, rounded down; not a number = not evaluated yet. Concurrent evaluations give the same value.
  std::unique_ptr<std::atomic<float>[]> clear_;
};

}  // namespace heelstrike::fem
