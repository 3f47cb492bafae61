/// The square on which a plane carries springs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/signed_distance.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

/// Springs detect only what lies over their square: the part of T that reaches below the plane elsewhere has no load.
class CastingSquare {
 public:
  /// @param square  the plane's triangles, in C
  /// @param target  in its own frame; unbounded ones are not checked
  /// @param triangles  of the target; null = it has a formula
  /// @param where   key of the square's edge, for messages
  CastingSquare(const PlaneSurface& plane, const SurfaceMesh& square, const Surface& target,
                const SurfaceMesh* triangles, std::string where);

  /// @throws RecoverableError with a sufficient edge if T reaches below the plane beyond the square. Found exactly for
  /// triangles; for convex shapes by formula where it crosses the rim, or lies below the plane at its middle
  void check(const Pose& X_CT) const;

 private:
  /// [m] of a point of C from the middle of the square along its edges, and above the plane.
  [[nodiscard]] Vector3 in_square(const Vector3& p_C) const { return axes_ * (p_C - middle_); }
  [[nodiscard]] double reach_of_triangles(const Pose& X_CT) const;
  [[nodiscard]] double reach_of_shape(const Pose& X_CT) const;

  Matrix3 axes_;     ///< rows: along two edges, and the plane's normal
  Vector3 middle_;   ///< [m]
  double half_ = 0;  ///< [m] of the edge
  std::string where_;
  SurfaceMesh triangles_;
  std::unique_ptr<SignedDistance> shape_;  ///< null = triangles, or unbounded
  Vector3 centre_ = Vector3::Zero();       ///< [m] of the target, in T
  double radius_ = 0.0;                    ///< [m] of a ball about it that contains the target
};

}  // namespace heelstrike::fem
