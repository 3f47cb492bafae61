/// Lines that go through a triangulated surface close by, found by walking from
/// triangle to triangle.
///
/// A walk finds a crossing, not the first one, and knows nothing of the nearest
/// point. Around every triangle a radius is therefore worked out beforehand
/// within which the surface is one sheet: connected, without rim, and nowhere
/// turned by more than 45 degrees from the triangle. A line within 45 degrees
/// of its normal goes through that sheet once. Where a point on such a line
/// lies nearer to its crossing than half the radius, all triangles as near to
/// the point as the crossing belong to the sheet: its nearest point lies on it,
/// on the side where the crossing shows it, and no other triangle is crossed in
/// between. Such answers equal those of TriangleSurface::closest (side) and
/// TriangleSurface::crossing (all bits); others are not given.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

/// Thread-safe; answers without allocating.
class SurfaceSheets {
 public:
  /// @param surface  must outlive this
  /// @param reach    [m] > 0, to which radii are worked out; preparation takes
  /// time with its square
  SurfaceSheets(const TriangleSurface& surface, double reach);

  /// Where the line from q along `direction` (unit length) leaves the surface;
  /// way < 0 before q, in front of which the surface then is. none = not proven
  /// by a short walk.
  /// @param near  where the walk begins: changes whether there is an answer,
  /// never the answer
  [[nodiscard]] std::optional<SurfaceCrossing> leaving(const Vector3& q, const Vector3& direction,
                                                       std::uint32_t near) const;

 private:
  /// What a walk asks of a triangle, together in memory.
  struct Cell {
    /// Rows: unit normal; gradients [1/m] of the shares of the corners 1 and 2, which are 0 at corner 0; corner 0 [m].
    Eigen::Matrix<double, 4, 3> plane;
    std::array<std::uint32_t, 3> neighbours;  ///< across the edge opposite of a corner; own number = none
    double radius = 0.0;                      ///< [m] of the sheet; 0 beside a rim
  };
  void find_neighbours();
  struct Patch {
    std::uint32_t seed = 0;
    std::vector<std::uint32_t> triangles;
    double steepest = 0.0;  ///< [-] cosine of the angle from the seed that a sheet of all of them is turned by
  };
  [[nodiscard]] bool at_rim(std::uint32_t t) const;
  [[nodiscard]] Patch patch_around(std::uint32_t seed, std::vector<std::uint32_t>& patch_of) const;
  void find_radius(const Patch& patch, double reach, std::vector<std::uint32_t>& marks);

  const TriangleSurface& surface_;
  std::vector<Cell> cells_;
};

}  // namespace heelstrike::fem
