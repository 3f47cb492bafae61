#include "fem_server/surfaces/partner_shape.hpp"

#include "fem_server/surfaces/kind_triangles.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

SurfaceMesh PartnerShape::triangles(const Vector3& p_BC, double extent) const {
  if (!surface_) return mesh_;
  const SurfaceKind& kind = kind_of(*surface_);
  if (kind.drawing == nullptr) return {};
  return surface_mesh(kind.drawing(*surface_, {.center = p_BC, .extent = extent}));
}

}  // namespace heelstrike::fem
