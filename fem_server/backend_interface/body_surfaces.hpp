/// Triangles and distances of the two surfaces of an elastic foundation, from the specification of a pair.
///
/// Mesh files of surfaces: options of reading and extents of the content.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"
#include "fem_server/surfaces/target_surface.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/signed_distance.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

/// True if triangles or a distance exist for surfaces of this kind.
[[nodiscard]] bool has_surface(const SurfaceKind& kind);

/// Triangles with outward normals, none degenerate or repeated.
struct CastingTriangles {
  SurfaceMesh mesh;
  /// Exact shape that the triangles approximate; null = the triangles are the surface.
  std::shared_ptr<const SignedDistance> shape{};
  std::optional<SurfaceMesh> back;  ///< of a volume mesh: the clamped faces, oriented inwards; none = no clamp
};

/// Triangulation of a shape.
struct TriangleSize {
  double edge = 0.0;    ///< [m] of shapes with a boundary of given edge length; 0 = a twentieth of the smallest extent
  double extent = 0.0;  ///< [m] edge of the square of a plane
};

/// For a volume mesh: its boundary, or the possible contact faces.
/// @param where  key of the surface, for messages, e.g. "contact.NAME.main.surface"
/// @param sets   body_set_parameters(), for volume meshes; null = the whole boundary
/// @throws Error{invalid_input} for an empty or inside-out mesh and for sets that do not exist; errors of reading
[[nodiscard]] CastingTriangles cast_triangles(const Surface& surface, const TriangleSize& size,
                                              const PrepareContext& context, const std::string& where,
                                              const ParameterScope* sets = nullptr);

/// As above, for the target surface of the springs: analytic where a formula exists.
struct TargetGeometry {
  std::unique_ptr<TargetSurface> target;
  PartnerShape shape;
};
/// Its triangles, as above; none if a formula exists.
[[nodiscard]] std::optional<CastingTriangles> find_target_triangles(const Surface& surface,
                                                                    const PrepareContext& context,
                                                                    const std::string& where,
                                                                    const ParameterScope& sets);
/// @param triangles  of the surface, as above; null = a formula exists
/// @param depth      see mesh_target
[[nodiscard]] TargetGeometry make_target_surface(const Surface& surface, const SurfaceMesh* triangles, bool interpolate,
                                                 double depth);

/// Triangles of another mesh, placed and scaled as `like`. @throws as above, and for a volume mesh
[[nodiscard]] SurfaceMesh asset_triangles(const AssetKey& key, const Surface& like, const PrepareContext& context,
                                          const std::string& where);

/// Options for reading the file of a surface.
[[nodiscard]] ReadOptions read_options(const MeshSurface& surface, const AssetContent& asset,
                                       const PrepareContext& context);

/// Triangles of a surface mesh with the same corners in the same orientation as another one; of these, one is kept.
/// Reads the file.
[[nodiscard]] std::size_t count_repeated_triangles(const MeshSurface& surface, const PrepareContext& context);

/// Edges [m] of the bounding box of a surface; none for planes and other infinite ones. Reads its mesh file.
[[nodiscard]] std::optional<Vector3> surface_extents(const Surface& surface, const PrepareContext& context);

}  // namespace heelstrike::fem
