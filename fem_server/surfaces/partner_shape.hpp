/// Triangles of a rigid partner for visualisation.
#pragma once

#include <optional>

#include "common/contact/surface.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

/// Keeps vertices and triangles; named sets become groups.
[[nodiscard]] SurfaceMesh surface_mesh(Triangles triangles);

/// Shape in the partner's frame. An unbounded surface is rendered near the body.
class PartnerShape {
 public:
  PartnerShape() = default;
  /// @param surface  analytic
  explicit PartnerShape(Surface surface) : surface_(std::move(surface)) {}
  explicit PartnerShape(SurfaceMesh mesh) : mesh_(std::move(mesh)) {}

  /// @param p_BC    [m] position of the body
  /// @param extent  [m] of the body
  [[nodiscard]] SurfaceMesh triangles(const Vector3& p_BC, double extent) const;

 private:
  SurfaceMesh mesh_;
  std::optional<Surface> surface_;
};

}  // namespace heelstrike::fem
