/// Signed distance of points of A to the rigid surface of the partner B.
#pragma once

#include <memory>
#include <vector>

#include "common/contact/surface.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Distance and its derivatives at one point, in the frame of the query.
struct SurfacePoint {
  double gap = 0.0;                   ///< [m] < 0 inside B
  Vector3 normal = Vector3::UnitZ();  ///< [-] gradient of the gap: out of B
  Matrix3 curvature =
      Matrix3::Zero();  ///< [1/m] Hessian H of the gap: `bend` times a projector; zero for triangle meshes
  double bend = 0.0;    ///< [1/m] principal curvature of the level surface, < 0 inside a concave socket
};

/// Thread-safe.
class PartnerSurface {
 public:
  virtual ~PartnerSurface() = default;
  /// @param p_BQ  [m] point in B
  [[nodiscard]] virtual SurfacePoint closest(const Vector3& p_BQ) const = 0;
  /// Gap alone, at most a lower bound when it exceeds `reach` [m]; cheaper for far points.
  [[nodiscard]] virtual double gap(const Vector3& p_BQ, double reach) const;
  /// A point that moves by d changes its gap by d at most.
  [[nodiscard]] virtual bool is_distance() const { return false; }
};

/// Plane, sphere (concave socket for a negative radius), cylinder (side surface, open ends).
/// @throws Error{invalid_input} for other surfaces and values out of range
[[nodiscard]] std::unique_ptr<PartnerSurface> make_analytic_partner(const Surface& surface);

/// Closed triangle mesh by a tree of bounding boxes; sign by angle-weighted pseudonormals [baerentzen2005].
/// @throws Error{invalid_input} for an empty, open or inside-out mesh
[[nodiscard]] std::unique_ptr<PartnerSurface> make_mesh_partner(SurfaceMesh mesh);

}  // namespace heelstrike::fem
