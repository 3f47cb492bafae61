/// Triangles of a rigid partner for drawing.
#pragma once

#include "common/contact/surface.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Shape in the partner's frame. A plane has no triangles of its own: which part of it is drawn depends on the body.
class PartnerShape {
 public:
  PartnerShape() = default;
  /// Plane, sphere or cylinder. @param extent  [m] of the body; an infinite cylinder is drawn four times as long
  PartnerShape(const Surface& surface, double extent);
  explicit PartnerShape(SurfaceMesh mesh) : mesh_(std::move(mesh)) {}

  /// @param p_BC  [m] where the body is
  [[nodiscard]] SurfaceMesh triangles(const Vector3& p_BC, double extent) const;

 private:
  SurfaceMesh mesh_;
  bool is_plane_ = false;
  PlaneSurface plane_;
};

}  // namespace heelstrike::fem
