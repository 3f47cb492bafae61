#include "fem_server/surfaces/partner_shape.hpp"

#include "common/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

SurfaceMesh PartnerShape::triangles(const Vector3& p_BC, double extent) const {
  if (!surface_) return mesh_;
  const SurfaceKind& kind = kind_of(*surface_);
  if (kind.drawing == nullptr) return {};
  Triangles drawn = kind.drawing(*surface_, {.center = p_BC, .extent = extent});
  SurfaceMesh mesh;
  mesh.vertices = std::move(drawn.vertices);
  mesh.triangles = std::move(drawn.triangles);
  return mesh;
}

}  // namespace heelstrike::fem
