/// Target surface of the springs, in its own frame: analytic, or triangles, including open surfaces.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fem_server/surfaces/triangle_surface.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/signed_distance.hpp"

namespace heelstrike::fem {

/// Local ray queries on a triangulated surface by walking from triangle to triangle.
///
/// A walk finds a crossing, not necessarily the first one, and does not yield the nearest point. For every triangle a
/// radius is therefore precomputed within which the surface is one sheet: connected, without rim, and nowhere inclined
/// by more than 45 degrees to the triangle. A line within 45 degrees of the triangle normal crosses that sheet once. If
/// a point on such a line is closer to its crossing than half the radius, all triangles as close to the point as the
/// crossing belong to the sheet: the nearest point lies on the sheet, on the side indicated by the crossing, and no
/// other triangle is crossed in between. Such results equal those of TriangleSurface::closest (side) and
/// TriangleSurface::crossing (all bits); otherwise no result is returned.
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

/// Target point of a spring, in the frame of the query.
struct TargetPoint {
  double gap = 0.0;                            ///< [m] to the nearest point, or along the line; < 0 behind the surface
  Vector3 normal = Vector3::UnitZ();           ///< [-] gradient of the distance there
  Matrix3 curvature = Matrix3::Zero();         ///< [1/m] its gradient by the query point, or the point of the surface
  Vector3 smooth_normal = Vector3::UnitZ();    ///< the same, or interpolated between the vertices of a mesh
  Matrix3 smooth_curvature = Matrix3::Zero();  ///< [1/m] its gradient in the same sense
  std::uint32_t triangle = 0;                  ///< start of the next search; 0 for analytic surfaces
  bool beside = false;                         ///< the nearest point lies on a rim: the side is undefined
};

/// Crossing of a line with a face close by, in the frame of the query. Small, because most springs use it.
struct LocalCrossing {
  double gap = 0.0;                   ///< [m] along the line; < 0 behind the surface
  Vector3 normal = Vector3::UnitZ();  ///< [-] of the face, which is flat
  std::uint32_t triangle = 0;
  double clear = 0.0;  ///< [m] no part of the surface is nearer to q in front of it; 0 = unknown
};

/// [-] Two points of a surface with normals at more than 120 degrees lie on opposite sides of a thin body or a wedge.
/// Along a line that runs beside a curved surface they differ by less than 90 degrees.
inline constexpr double opposite_sides_cosine = -0.5;

/// Thread-safe; evaluation does not allocate.
class TargetSurface {
 public:
  virtual ~TargetSurface() = default;
  /// @param near  `triangle` of a result close by: affects the time, not the result
  [[nodiscard]] virtual TargetPoint closest(const Vector3& q, std::uint32_t near) const = 0;
  /// Crossing at which the line from q along `direction` (unit length) leaves the body within `reach` [m]; gap = minus
  /// the distance. With `leaving` false, the crossing at which it enters; gap = the distance. On a surface by formula,
  /// a line that starts away from the nearest point is only followed to the opposite side.
  [[nodiscard]] virtual std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                            bool leaving, std::uint32_t near) const = 0;
  /// The same for the line through q along `away` in both directions, if proven without a search: that q lies on the
  /// side of the surface that `gap` indicates, and that `crossing` gives the same result, bit for bit.
  /// @return true if proven; only then the last argument is written
  [[nodiscard]] virtual bool local_crossing(const Vector3& /*q*/, const Vector3& /*away*/, std::uint32_t /*near*/,
                                            LocalCrossing& /*found*/) const {
    return false;
  }
  /// Result of `crossing` for the same point p [m].
  [[nodiscard]] virtual TargetPoint at(const LocalCrossing& crossing, const Vector3& /*p*/) const {
    return {.gap = crossing.gap,
            .normal = crossing.normal,
            .smooth_normal = crossing.normal,
            .triangle = crossing.triangle};
  }
  /// True if a point that moves by d changes its gap by d at most.
  [[nodiscard]] virtual bool is_distance() const = 0;
  /// [m] Corners of the bounding box of triangles, in which searches are precomputed; none for analytic surfaces.
  [[nodiscard]] virtual std::optional<std::array<Vector3, 2>> box() const { return std::nullopt; }
  /// Set for planes: regions far in front of a plane need no query.
  [[nodiscard]] virtual std::optional<PlaneSurface> plane() const { return std::nullopt; }
  /// True if it has an inside: no rim.
  [[nodiscard]] virtual bool closed() const = 0;
  /// True if known to be convex: it lies behind the plane through the nearest point, normal to the distance vector.
  [[nodiscard]] virtual bool convex() const { return false; }
  /// True if for_flat_faces visits all its flat faces.
  [[nodiscard]] virtual bool has_flat_faces() const { return false; }
  /// Visits the flat faces that may overlap a box, as triangles, counterclockwise from outside.
  virtual void for_flat_faces(const Vector3& /*low*/, const Vector3& /*high*/,
                              const std::function<void(const std::array<Vector3, 3>&)>& /*visit*/) const {}
};

/// @param surface  with an analytic distance
[[nodiscard]] std::unique_ptr<TargetSurface> analytic_target(std::unique_ptr<SignedDistance> surface);

/// @param cylinder  of finite length
[[nodiscard]] std::unique_ptr<TargetSurface> cylinder_target(const CylinderSurface& cylinder);

/// [m] from q along `away` (unit length) to the plane, < 0 behind it; none = `away` does not reach it from in front.
[[nodiscard]] inline std::optional<double> crossing_gap(const PlaneSurface& plane, const Vector3& q,
                                                        const Vector3& away) {
  const double slope = -plane.normal.dot(away);
  if (!(slope > 0.0)) return std::nullopt;
  return plane.normal.dot(q - plane.point) / slope;
}

[[nodiscard]] std::unique_ptr<TargetSurface> plane_target(const PlaneSurface& plane);

/// @param interpolate  smooth normals are interpolated from those of the vertices
/// @param depth        [m] expected maximum length of lines to a crossing, > 0; 0 = no lines are queried
/// @pre at least one triangle, none degenerate
[[nodiscard]] std::unique_ptr<TargetSurface> mesh_target(SurfaceMesh mesh, bool interpolate, double depth);

}  // namespace heelstrike::fem
