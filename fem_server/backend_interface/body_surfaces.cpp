#include "fem_server/backend_interface/body_surfaces.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike::fem {

namespace {

/// Default edge length of triangulated shapes over their smallest extent: about 4000 triangles.
constexpr double default_edge = 1.0 / 20.0;
/// Limit for plates, whose smallest extent is no measure of their faces.
constexpr double max_default_triangles = 20000.0;

/// Orients triangle normals as the surface normals: a socket is seen from its inside.
void orient_outward(SurfaceMesh& mesh, const SignedDistance& distance) {
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
  if (is_volume_mesh(asset.content, read)) {
    throw input_error(where,
                      fmt::format("{}: expected triangles, found a volume mesh in '{}'; give a surface mesh (stl, "
                                  "obj, ply, vtp)",
                                  where, asset.name));
  }
  return placed(read_surface(asset.content, read), surface.X_BodyMesh);
}

/// The chosen triangles of a boundary and their vertices.
template <class Chosen>
SurfaceMesh part_of(const Boundary& boundary, const Chosen& chosen) {
  SurfaceMesh part;
  std::map<std::uint32_t, std::uint32_t> vertex_of;
  for (std::size_t t = 0; t < boundary.faces.size(); ++t) {
    if (!chosen(t)) continue;
    Triangle triangle = boundary.surface.triangles[t];
    for (std::uint32_t& corner : triangle) {
      const auto [found, is_new] = vertex_of.try_emplace(corner, static_cast<std::uint32_t>(part.vertices.size()));
      if (is_new) part.vertices.push_back(boundary.surface.vertices[corner]);
      corner = found->second;
    }
    part.triangles.push_back(triangle);
  }
  return part;
}

/// Face sets that intersect the chosen faces become groups; a face in several sets belongs to the first.
void name_groups(const VolumeMesh& solid, std::span<const ElementFace> chosen, SurfaceMesh& mesh) {
  constexpr auto none = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> group(chosen.size(), none);
  for (const auto& [name, set] : solid.face_sets) {
    const auto has = [&](ElementFace face) { return std::ranges::binary_search(set, face); };
    if (std::ranges::all_of(chosen, has) || std::ranges::none_of(chosen, has)) continue;
    for (std::size_t t = 0; t < chosen.size(); ++t) {
      if (group[t] == none && has(chosen[t])) group[t] = static_cast<std::uint32_t>(mesh.group_names.size());
    }
    mesh.group_names.push_back(name);
  }
  if (mesh.group_names.empty()) return;
  for (std::uint32_t& g : group) {
    if (g == none) g = static_cast<std::uint32_t>(mesh.group_names.size());
  }
  mesh.triangle_groups = std::move(group);
}

/// @param sets  null = the whole boundary, nothing clamped
CastingTriangles solid_triangles(const VolumeMesh& solid, const ParameterScope* sets) {
  const Boundary boundary = boundary_surface(solid);
  if (sets == nullptr) return {.mesh = boundary.surface, .back = {}};
  CastingTriangles result;
  const std::vector<std::uint32_t> clamped = clamped_nodes(solid, *sets);
  const auto is_supported = [&](std::size_t t) {
    return std::ranges::all_of(boundary.surface.triangles[t], [&](std::uint32_t corner) {
      return std::ranges::binary_search(clamped, boundary.vertex_nodes[corner]);
    });
  };
  const std::vector<ElementFace> touching = contact_faces(solid, {}, *sets);
  std::vector<ElementFace> chosen;
  result.mesh = part_of(boundary, [&](std::size_t t) {
    const bool is_chosen = std::ranges::binary_search(touching, boundary.faces[t]) && !is_supported(t);
    if (is_chosen) chosen.push_back(boundary.faces[t]);
    return is_chosen;
  });
  name_groups(solid, chosen, result.mesh);
  if (clamped.empty()) return result;
  result.back = part_of(boundary, is_supported);
  for (Triangle& corners : result.back->triangles) std::swap(corners[1], corners[2]);
  return result;
}

/// Triangles without area have no normal, and a repeated one would carry its load again; closed surfaces must have
/// outward normals.
void repair_target_triangles(SurfaceMesh& mesh, const std::string& where) {
  remove_degenerate_triangles(mesh);
  remove_repeated_triangles(mesh);
  if (mesh.triangles.empty()) {
    throw input_error(where, fmt::format("{}: expected triangles, found none with an area; check the mesh", where));
  }
  const SurfaceReport report = check_surface(mesh, {.positions_per_kind = 1, .self_intersections = false});
  for (const SurfaceFinding& finding : report.findings) {
    if (finding.defect != SurfaceDefect::inside_out && finding.defect != SurfaceDefect::inconsistent_winding) continue;
    const Vector3& p = finding.where.front();
    throw input_error(
        where, fmt::format("{}: expected normals that point out of the body, found {} ({} times, first at "
                           "({:g}, {:g}, {:g}) m); reverse the triangles: heelstrike mesh FILE --repair orientation",
                           where, to_string(finding.defect), finding.count, p.x(), p.y(), p.z()));
  }
}

/// Triangles of shapes with their own triangulation.
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
    if (!(size.edge > 0.0)) {
      const Vector3& l = block->lengths;
      const double area = 2.0 * (l.x() * l.y() + l.y() * l.z() + l.z() * l.x());
      options.size = std::max(edge, std::sqrt(2.0 * area / max_default_triangles));
    }
    const VolumeMesh solid = make_block(options);
    return placed(boundary_surface(solid).surface, {.p = block->center});
  }
  Triangles drawn;
  if (kind.sheet != nullptr) {
    drawn = kind.sheet(surface);
  } else if (kind.boundary != nullptr && (size.edge > 0.0 || kind.drawing == nullptr)) {
    drawn = kind.boundary(surface, edge);
  } else if (kind.drawing != nullptr) {
    // An infinite surface is triangulated around its location; a plane as a square of four times this extent.
    drawn = kind.drawing(surface, {.center = location_of(surface), .extent = 0.25 * size.extent});
  } else {
    throw input_error(where, fmt::format("{}: a {} cannot be triangulated here; use a mesh", where, kind.name()));
  }
  return surface_mesh(std::move(drawn));
}

}  // namespace

bool has_surface(const SurfaceKind& kind) {
  return !kind.is_cloud && (kind.drawing != nullptr || kind.boundary != nullptr || kind.sheet != nullptr || kind.fills);
}

CastingTriangles cast_triangles(const Surface& surface, const TriangleSize& size, const PrepareContext& context,
                                const std::string& where, const ParameterScope* sets) {
  CastingTriangles result;
  if (const auto mesh = MeshSurface::of(surface)) {
    const AssetContent& asset = context.asset(mesh->asset());
    const ReadOptions read = read_options(*mesh, asset, context);
    if (is_volume_mesh(asset.content, read)) {
      VolumeMesh solid = read_volume(asset.content, read);
      for (Vector3& node : solid.nodes) node = mesh->X_BodyMesh * node;
      result = solid_triangles(solid, sets);
    } else {
      result.mesh = read_triangles(*mesh, context, where);
    }
    repair_target_triangles(result.mesh, where);
    return result;
  }
  result.mesh = shaped_triangles(surface, size, where);
  // The ends of a triangulated shape may be circles of radius zero.
  const Vector3 extents = extents_of(result.mesh.vertices);
  merge_near_vertices(result.mesh, 1e-9 * extents.maxCoeff());
  remove_degenerate_triangles(result.mesh);
  if (kind_of(surface).distance == nullptr) return result;
  result.shape = signed_distance(surface);
  orient_outward(result.mesh, *result.shape);
  return result;
}

std::optional<CastingTriangles> find_target_triangles(const Surface& surface, const PrepareContext& context,
                                                      const std::string& where, const ParameterScope& sets) {
  if (PlaneSurface::of(surface) || kind_of(surface).distance != nullptr) return std::nullopt;
  // Few triangles suffice: contact with the faces of a block is exact for any number of them.
  const auto block = BlockSurface::of(surface);
  return cast_triangles(surface, {.edge = block ? block->lengths.maxCoeff() : 0.0}, context, where, &sets);
}

TargetGeometry make_target_surface(const Surface& surface, const SurfaceMesh* triangles, bool interpolate,
                                   double depth) {
  if (triangles != nullptr)
    return {.target = mesh_target(*triangles, interpolate, depth), .shape = PartnerShape(*triangles)};
  if (const auto plane = PlaneSurface::of(surface)) {
    return {.target = plane_target(*plane), .shape = PartnerShape(surface)};
  }
  if (const auto cylinder = CylinderSurface::of(surface); cylinder && std::isfinite(cylinder->length)) {
    return {.target = cylinder_target(*cylinder), .shape = PartnerShape(surface)};
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
  repair_target_triangles(mesh, where);
  return mesh;
}

ReadOptions read_options(const MeshSurface& surface, const AssetContent& asset, const PrepareContext& context) {
  ReadOptions read;
  read.name = asset.name;
  read.format = surface.format;
  read.length_scale = surface.length_scale;
  read.limits.max_elements = context.max_elements;
  return read;
}

std::size_t count_repeated_triangles(const MeshSurface& surface, const PrepareContext& context) {
  const AssetContent& asset = context.asset(surface.asset());
  const ReadOptions read = read_options(surface, asset, context);
  if (is_volume_mesh(asset.content, read)) return 0;
  SurfaceMesh mesh = read_surface(asset.content, read);
  remove_degenerate_triangles(mesh);
  return remove_repeated_triangles(mesh);
}

std::optional<Vector3> surface_extents(const Surface& surface, const PrepareContext& context) {
  const SurfaceKind& kind = kind_of(surface);
  if (kind.extents != nullptr) return kind.extents(surface);
  const auto mesh = MeshSurface::of(surface);
  if (!mesh) return std::nullopt;
  const AssetContent& asset = context.asset(mesh->asset());
  const ReadOptions read = read_options(*mesh, asset, context);
  return extents_of(is_volume_mesh(asset.content, read) ? read_volume(asset.content, read).nodes
                                                        : read_surface(asset.content, read).vertices);
}

}  // namespace heelstrike::fem
