#include "fem_server/surfaces/partner_shape.hpp"

#include <utility>

#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

SurfaceMesh surface_mesh(Triangles triangles) {
  return {.vertices = std::move(triangles.vertices),
          .triangles = std::move(triangles.triangles),
          .group_names = std::move(triangles.set_names),
          .triangle_groups = std::move(triangles.sets),
          .notes = {}};
}

SurfaceMesh PartnerShape::triangles(const Vector3& p_BC, double extent) const {
  if (!surface_) return mesh_;
  const SurfaceKind& kind = kind_of(*surface_);
  if (kind.drawing == nullptr) return {};
  return surface_mesh(kind.drawing(*surface_, {.center = p_BC, .extent = extent}));
}

}  // namespace heelstrike::fem
