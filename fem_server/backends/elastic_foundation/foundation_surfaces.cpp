#include "fem_server/backends/elastic_foundation/foundation_surfaces.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "common/errors/error.hpp"
#include "common/spatial/extents.hpp"
#include "common/surfaces/block.hpp"
#include "common/surfaces/foot.hpp"
#include "common/surfaces/surface_kind.hpp"
#include "common/surfaces/values.hpp"
#include "fem_server/backends/shared/surface_file.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/surface_repair.hpp"

namespace heelstrike::fem {

namespace {

/// Edges of triangles of shapes that have no triangles of their own, over the smallest extent: about 4000 triangles.
constexpr double default_edge = 1.0 / 20.0;

/// Normals of triangles follow those of the surface: sockets are drawn from their inside.
void turn_outward(SurfaceMesh& mesh, const SignedDistance& distance) {
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    Triangle& corners = mesh.triangles[t];
    const Vector3 centre = (mesh.vertices[corners[0]] + mesh.vertices[corners[1]] + mesh.vertices[corners[2]]) / 3.0;
    if (triangle_cross(mesh, t).dot(distance.closest(centre).normal) < 0.0) std::swap(corners[1], corners[2]);
  }
}

SurfaceMesh placed(SurfaceMesh mesh, const Pose& X_BodyMesh) {
  for (Vector3& vertex : mesh.vertices) vertex = X_BodyMesh * vertex;
  return mesh;
}

SurfaceMesh read_triangles(const MeshSurface& surface, const PrepareContext& context, const std::string& where) {
  const AssetContent& asset = context.asset(surface.asset());
  const ReadOptions read = read_options(surface, asset, context);
  if (holds_volume(asset.content, read)) {
    throw input_error(where,
                      fmt::format("{}: expected triangles, found a volume mesh in '{}'; give a surface mesh (stl, "
                                  "obj, ply, vtp)",
                                  where, asset.name));
  }
  return placed(read_surface(asset.content, read), surface.X_BodyMesh);
}

/// Triangles without area have no normal; a closed surface has an outside.
void make_sound(SurfaceMesh& mesh, const std::string& where) {
  drop_degenerate_triangles(mesh);
  if (mesh.triangles.empty()) {
    throw input_error(where, fmt::format("{}: expected triangles, found none with an area; check the mesh", where));
  }
  const SurfaceReport report = check_surface(mesh, {.positions_per_kind = 1, .self_intersections = false});
  for (const SurfaceFinding& finding : report.findings) {
    if (finding.defect != SurfaceDefect::inside_out && finding.defect != SurfaceDefect::inconsistent_winding) continue;
    const Vector3& p = finding.where.front();
    throw input_error(
        where, fmt::format("{}: expected normals that point out of the body, found {} ({} times, first at "
                           "({:g}, {:g}, {:g}) m); turn triangles round: heelstrike mesh FILE --repair orientation",
                           where, to_string(finding.defect), finding.count, p.x(), p.y(), p.z()));
  }
}

/// Shapes that are triangulated by their own code.
SurfaceMesh shaped_triangles(const Surface& surface, const TriangleSize& size, const std::string& where) {
  const SurfaceKind& kind = kind_of(surface);
  const double smallest = kind.extents == nullptr ? 0.0 : kind.extents(surface).value_or(Vector3::Zero()).minCoeff();
  const double edge = size.edge > 0.0 ? size.edge : default_edge * smallest;
  if (const auto foot = FootSurface::of(surface)) {
    SurfaceMesh mesh = make_foot(foot->dimensions, edge, foot->right ? FootSide::right : FootSide::left);
    return placed(std::move(mesh), {.p = foot->ankle});
  }
  if (const auto block = BlockSurface::of(surface)) {
    BlockOptions options;
    options.lengths = block->lengths;
    options.size = edge;
    const VolumeMesh solid = make_block(options);
    return placed(boundary_surface(solid).surface, {.p = block->center});
  }
  Triangles drawn;
  if (kind.sheet != nullptr) {
    drawn = kind.sheet(surface);
  } else if (kind.boundary != nullptr && (size.edge > 0.0 || kind.drawing == nullptr)) {
    drawn = kind.boundary(surface, edge);
  } else if (kind.drawing != nullptr) {
    // An endless surface is drawn about its place; a plane as a square of four times this extent.
    drawn = kind.drawing(surface, {.center = place_of(surface), .extent = 0.25 * size.extent});
  } else {
    throw input_error(where, fmt::format("{}: a {} has no triangles here; give a mesh", where, kind.name()));
  }
  SurfaceMesh mesh;
  mesh.vertices = std::move(drawn.vertices);
  mesh.triangles = std::move(drawn.triangles);
  mesh.group_names = std::move(drawn.set_names);
  mesh.triangle_groups = std::move(drawn.sets);
  return mesh;
}

}  // namespace

bool has_surface(const SurfaceKind& kind) {
  return !kind.is_cloud && (kind.drawing != nullptr || kind.boundary != nullptr || kind.sheet != nullptr || kind.fills);
}

CastTriangles cast_triangles(const Surface& surface, const TriangleSize& size, const PrepareContext& context,
                             const std::string& where) {
  CastTriangles result;
  if (const auto mesh = MeshSurface::of(surface)) {
    result.mesh = read_triangles(*mesh, context, where);
    make_sound(result.mesh, where);
    return result;
  }
  result.mesh = shaped_triangles(surface, size, where);
  // Circles of radius zero at the ends of what is drawn.
  const Vector3 extents = extents_of(result.mesh.vertices);
  merge_near_vertices(result.mesh, 1e-9 * extents.maxCoeff());
  drop_degenerate_triangles(result.mesh);
  if (kind_of(surface).distance == nullptr) return result;
  const std::shared_ptr<const SignedDistance> distance = signed_distance(surface);
  turn_outward(result.mesh, *distance);
  result.onto = [distance](const Vector3& p) -> Vector3 {
    const SurfacePoint nearest = distance->closest(p);
    return p - nearest.gap * nearest.normal;
  };
  return result;
}

std::optional<SurfaceMesh> met_triangles(const Surface& surface, const PrepareContext& context,
                                         const std::string& where) {
  if (PlaneSurface::of(surface) || kind_of(surface).distance != nullptr) return std::nullopt;
  return cast_triangles(surface, {}, context, where).mesh;
}

MetSurface met_surface(const Surface& surface, const std::optional<SurfaceMesh>& triangles, bool interpolate,
                       double depth) {
  if (triangles) return {.target = mesh_target(*triangles, interpolate, depth), .shape = PartnerShape(*triangles)};
  if (const auto plane = PlaneSurface::of(surface)) {
    return {.target = plane_target(*plane), .shape = PartnerShape(surface)};
  }
  return {.target = analytic_target(signed_distance(surface)), .shape = PartnerShape(surface)};
}

SurfaceMesh asset_triangles(const AssetKey& key, const Surface& like, const PrepareContext& context,
                            const std::string& where) {
  MeshSurface file;
  if (const auto mesh = MeshSurface::of(like)) file = *mesh;
  file.sha256 = key.sha256;
  file.format.clear();
  file.asset_name = key.name;
  SurfaceMesh mesh = read_triangles(file, context, where);
  make_sound(mesh, where);
  return mesh;
}

}  // namespace heelstrike::fem
