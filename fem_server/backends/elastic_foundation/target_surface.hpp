/// The surface that the springs meet, in its own frame: by formula, or triangles, open ones too.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/signed_distance.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

/// What a spring meets, in the frame of the query.
struct TargetPoint {
  double gap = 0.0;                            ///< [m] to the nearest point, or along the line; < 0 behind the surface
  Vector3 normal = Vector3::UnitZ();           ///< [-] gradient of the distance there
  Matrix3 curvature = Matrix3::Zero();         ///< [1/m] its gradient by the query point, or the point of the surface
  Vector3 smooth_normal = Vector3::UnitZ();    ///< [-] the same, or interpolated between the vertices of a mesh
  Matrix3 smooth_curvature = Matrix3::Zero();  ///< [1/m] its gradient in the same sense
  std::uint32_t triangle = 0;                  ///< where to begin the next search; 0 by formula
  bool beside = false;                         ///< the nearest point lies on a rim: no side
};

/// Where a line goes through a face close by, in the frame of the query. Small, for it is what most springs meet.
struct LocalCrossing {
  double gap = 0.0;                   ///< [m] along the line; < 0 behind the surface
  Vector3 normal = Vector3::UnitZ();  ///< [-] of the face, which is flat
  std::uint32_t triangle = 0;
  double clear = 0.0;  ///< [m] in front of the surface no part of it is nearer to q; 0 = not known
};

/// Thread-safe; answers without allocating.
class TargetSurface {
 public:
  virtual ~TargetSurface() = default;
  /// @param near  `triangle` of an answer close by: changes the time, not the answer
  [[nodiscard]] virtual TargetPoint closest(const Vector3& q, std::uint32_t near) const = 0;
  /// Where the line from q along `direction` (unit length) leaves the body within `reach` [m]; gap = - way. With
  /// `leaving` false, where it enters it; gap = way.
  [[nodiscard]] virtual std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                            bool leaving, std::uint32_t near) const = 0;
  /// The same for the line through q along `away`, followed both ways, where it is proven without a search: that q lies
  /// on the side of the surface that `gap` says, and that `crossing` finds the same, bit for bit.
  /// @return whether it is proven; only then the last argument is written
  [[nodiscard]] virtual bool local_crossing(const Vector3& /*q*/, const Vector3& /*away*/, std::uint32_t /*near*/,
                                            LocalCrossing& /*found*/) const {
    return false;
  }
  /// What `crossing` says of the same place p [m].
  [[nodiscard]] virtual TargetPoint at(const LocalCrossing& crossing, const Vector3& /*p*/) const {
    return {.gap = crossing.gap,
            .normal = crossing.normal,
            .smooth_normal = crossing.normal,
            .triangle = crossing.triangle};
  }
  /// A point that moves by d changes its gap by d at most.
  [[nodiscard]] virtual bool is_distance() const = 0;
  /// [m] Corners of the box around triangles, whose searches are worth doing beforehand; none by formula.
  [[nodiscard]] virtual std::optional<std::array<Vector3, 2>> box() const { return std::nullopt; }
  /// Where it is one: what is far in front of it needs no query.
  [[nodiscard]] virtual std::optional<PlaneSurface> plane() const { return std::nullopt; }
  /// It has an inside: no rim.
  [[nodiscard]] virtual bool closed() const = 0;
  /// It is known to be convex: all of it lies behind the plane through the nearest point, across the way to it.
  [[nodiscard]] virtual bool convex() const { return false; }
};

/// @param surface  with a distance by formula
[[nodiscard]] std::unique_ptr<TargetSurface> analytic_target(std::unique_ptr<SignedDistance> surface);

/// [m] from q along `away` (unit length) to the plane, < 0 behind it; none = `away` does not lead to it from in front.
[[nodiscard]] inline std::optional<double> crossing_gap(const PlaneSurface& plane, const Vector3& q,
                                                        const Vector3& away) {
  const double slope = -plane.normal.dot(away);
  if (!(slope > 0.0)) return std::nullopt;
  return plane.normal.dot(q - plane.point) / slope;
}

[[nodiscard]] std::unique_ptr<TargetSurface> plane_target(const PlaneSurface& plane);

/// @param interpolate  smooth normals come from those of the vertices
/// @param depth        [m] to which lines are expected to go through it close by, > 0; 0 = not asked for lines
/// @pre at least one triangle, none degenerate
[[nodiscard]] std::unique_ptr<TargetSurface> mesh_target(SurfaceMesh mesh, bool interpolate, double depth);

}  // namespace heelstrike::fem
