/// Triangles and distances of the two surfaces of an elastic foundation, from what a pair says of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "scenario/surfaces/signed_distance.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/elastic_foundation/target_surface.hpp"
#include "fem_server/backend_interface/body_sets.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike::fem {

/// Whether there are triangles, or a distance, for surfaces of this kind.
[[nodiscard]] bool has_surface(const SurfaceKind& kind);

/// Triangles with outward normals, none degenerate.
struct CastingTriangles {
  SurfaceMesh mesh;
  /// Of which the triangles are an image; null = they are the surface.
  std::shared_ptr<const SignedDistance> shape{};
  std::optional<SurfaceMesh> back;  ///< of a volume mesh: the faces that are held, seen from within; none = no clamp
};

/// How a shape becomes triangles.
struct TriangleSize {
  double edge = 0.0;    ///< [m] of shapes with a boundary of given edge length; 0 = a twentieth of the smallest extent
  double extent = 0.0;  ///< [m] edge of the square of a plane
};

/// Of a volume mesh: its boundary, or the faces that may touch.
/// @param where  of the surface, for messages, e.g. "contact.NAME.main.surface"
/// @param sets   body_set_parameters(), for volume meshes; null = the whole boundary
/// @throws Error{invalid_input} for an empty or inside-out mesh, sets that a mesh has not; what reading throws
[[nodiscard]] CastingTriangles cast_triangles(const Surface& surface, const TriangleSize& size,
                                           const PrepareContext& context, const std::string& where,
                                           const ParameterPrefix* sets = nullptr);

/// As above, for the surface that the springs meet: by formula where there is one.
struct TargetGeometry {
  std::unique_ptr<TargetSurface> target;
  PartnerShape shape;
};
/// Its triangles, as above; none where there is a formula.
[[nodiscard]] std::optional<CastingTriangles> find_target_triangles(const Surface& surface, const PrepareContext& context,
                                                         const std::string& where, const ParameterPrefix& sets);
/// @param triangles  of the surface, as above; null = there is a formula
/// @param depth      see mesh_target
[[nodiscard]] TargetGeometry make_target_surface(const Surface& surface, const SurfaceMesh* triangles, bool interpolate,
                                     double depth);

/// Triangles of another mesh, placed and scaled as `like`. @throws as above, and for a volume mesh
[[nodiscard]] SurfaceMesh asset_triangles(const AssetKey& key, const Surface& like, const PrepareContext& context,
                                          const std::string& where);

}  // namespace heelstrike::fem
