/// Local ray queries on a triangulated surface by walking from triangle to triangle.
///
/// A walk finds a crossing, not necessarily the first one, and does not yield the nearest point. For every triangle a
/// radius is therefore precomputed within which the surface is one sheet: connected, without rim, and nowhere inclined
/// by more than 45 degrees to the triangle. A line within 45 degrees of the triangle normal crosses that sheet once. If
/// a point on such a line is closer to its crossing than half the radius, all triangles as close to the point as the
/// crossing belong to the sheet: the nearest point lies on the sheet, on the side indicated by the crossing, and no
/// other triangle is crossed in between. Such results equal those of TriangleSurface::closest (side) and
/// TriangleSurface::crossing (all bits); otherwise no result is returned.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

/// Thread-safe; queries do not allocate.
class SurfaceSheets {
 public:
  /// @param surface  must outlive this
  /// @param reach    [m] > 0 up to which radii are computed; the cost of preparation grows with its square
  SurfaceSheets(const TriangleSurface& surface, double reach);

  /// Crossing at which the line from q along `direction` (unit length) leaves the surface; way < 0 if it lies behind q,
  /// i.e. q is in front of the surface. none = not proven by a short walk.
  /// @param near  start of the walk: affects whether a result is found, not its value
  [[nodiscard]] std::optional<SurfaceCrossing> leaving(const Vector3& q, const Vector3& direction,
                                                       std::uint32_t near) const;

 private:
  /// Triangle data of a walk, contiguous in memory.
  struct Cell {
    /// Rows: unit normal; gradients [1/m] of the barycentric coordinates of corners 1 and 2, which are 0 at corner 0;
    /// corner 0 [m].
    Eigen::Matrix<double, 4, 3> plane;
    std::array<std::uint32_t, 3> neighbours;  ///< across the edge opposite a corner; the cell itself = none
    double radius = 0.0;                      ///< [m] of the sheet; 0 beside a rim
  };
  void find_neighbours();
  struct Patch {
    std::uint32_t seed = 0;
    std::vector<std::uint32_t> triangles;
    double steepest = 0.0;  ///< [-] cosine of the angle to the seed normal within which all of them form a sheet
  };
  [[nodiscard]] bool at_rim(std::uint32_t t) const;
  [[nodiscard]] Patch patch_around(std::uint32_t seed, std::vector<std::uint32_t>& patch_of) const;
  void find_radius(const Patch& patch, double reach, std::vector<std::uint32_t>& marks);

  const TriangleSurface& surface_;
  std::vector<Cell> cells_;
};

}  // namespace heelstrike::fem
