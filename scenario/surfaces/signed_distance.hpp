/// Signed distance of points to the surface of a rigid body.
#pragma once

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Distance and its derivatives at one point, in the frame of the query.
struct SurfacePoint {
  double gap = 0.0;                   ///< [m] < 0 inside B
  Vector3 normal = Vector3::UnitZ();  ///< [-] gradient of the gap: out of B
  Matrix3 curvature =
      Matrix3::Zero();  ///< [1/m] Hessian H of the gap: `bend` times a projector; zero for triangle meshes
  double bend = 0.0;    ///< [1/m] principal curvature of the level surface, < 0 inside a concave socket
};

/// Created once per pair, evaluated once per candidate point and evaluation. Thread-safe; analytic surfaces do not
/// allocate.
class SignedDistance {
 public:
  virtual ~SignedDistance() = default;
  /// @param p_BQ  [m] point in B
  [[nodiscard]] virtual SurfacePoint closest(const Vector3& p_BQ) const = 0;
  /// Gap alone, at most a lower bound when it exceeds `reach` [m]; cheaper for far points.
  [[nodiscard]] virtual double gap(const Vector3& p_BQ, double /*reach*/) const { return closest(p_BQ).gap; }
  /// True if the gap changes by at most the displacement of the point (1-Lipschitz).
  [[nodiscard]] virtual bool is_distance() const { return false; }
  /// Outward normal of a half space; zero for all other surfaces.
  [[nodiscard]] virtual Vector3 half_space() const { return Vector3::Zero(); }
};

}  // namespace heelstrike
