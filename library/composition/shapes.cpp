#include "library/composition/shapes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {
namespace {

constexpr double foot_edge = 0.006;  // [m] of the parametric foot: small enough for its round toes

struct Read {
  std::string body;
  std::string source;
  Surface surface;
  fem::SurfaceMesh mesh;
};

std::optional<fem::SurfaceMesh> mesh_of_file(const MeshSurface& surface, std::span<const AssetContent> files) {
  const auto file = std::ranges::find(files, surface.asset_name, &AssetContent::name);
  if (file == files.end()) return std::nullopt;
  fem::ReadOptions read;
  read.name = file->name;
  read.format = surface.format;
  read.length_scale = surface.length_scale;
  fem::SurfaceMesh mesh = fem::read_outer_surface(file->content, read);
  for (Vector3& vertex : mesh.vertices) vertex = surface.X_BodyMesh * vertex;
  return mesh;
}

std::optional<fem::SurfaceMesh> mesh_of(const Surface& surface, std::span<const AssetContent> files) {
  if (const auto mesh = MeshSurface::of(surface)) return mesh_of_file(*mesh, files);
  if (const auto foot = FootSurface::of(surface)) {
    fem::SurfaceMesh mesh =
        fem::make_foot(foot->dimensions, foot_edge, foot->right ? fem::FootSide::right : fem::FootSide::left);
    for (Vector3& vertex : mesh.vertices) vertex += foot->ankle;
    return mesh;
  }
  const SurfaceKind& kind = kind_of(surface);
  if (kind.sheet == nullptr) return std::nullopt;
  Triangles drawn = kind.sheet(surface);
  fem::SurfaceMesh mesh;
  mesh.vertices = std::move(drawn.vertices);
  mesh.triangles = std::move(drawn.triangles);
  return mesh;
}

std::vector<Read> read_all(const Scenario& scenario, std::span<const AssetContent> files) {
  std::vector<Read> all;
  const auto add = [&](const std::string& body, const Surface& surface) {
    if (std::ranges::any_of(all, [&](const Read& r) { return r.body == body && r.surface == surface; })) return;
    try {
      auto mesh = mesh_of(surface, files);
      if (!mesh || mesh->triangles.empty()) return;
      const auto file = MeshSurface::of(surface);
      all.push_back({.body = body,
                     .source = file ? file->asset_name : surface.kind,
                     .surface = surface,
                     .mesh = std::move(*mesh)});
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the computation that uses the file reports the error
    }
  };
  for (const PairModel& pair : scenario.pairs) {
    add(pair.main_body, pair.spec.main.surface);
    add(pair.partner_body, pair.spec.partner.surface);
  }
  return all;
}

/// Distributes `most`: each gets its request or, if that is larger, an equal share of the remainder.
std::vector<std::size_t> shares(const std::vector<std::size_t>& requested, std::size_t most) {
  std::vector<std::size_t> order(requested.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(requested[i], i); });
  std::vector<std::size_t> given(requested.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    given[order[k]] = std::min(requested[order[k]], most / (order.size() - k));
    most -= given[order[k]];
  }
  return given;
}

}  // namespace

std::vector<report::BodyShape> body_shapes(const Scenario& scenario, std::span<const AssetContent> files,
                                           std::size_t max_triangles) {
  const std::vector<Read> all = read_all(scenario, files);
  std::vector<std::size_t> requested;
  for (const Read& read : all) requested.push_back(read.mesh.triangles.size());
  const std::vector<std::size_t> given = shares(requested, max_triangles);
  std::vector<report::BodyShape> shapes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (given[i] == 0) continue;
    const fem::SurfaceMesh mesh = fem::simplified_surface(all[i].mesh, given[i]);
    report::BodyShape shape{
        .body = all[i].body, .source = all[i].source, .n_read = requested[i], .points = {}, .triangles = {}};
    for (const Vector3& p : mesh.vertices) shape.points.insert(shape.points.end(), p.begin(), p.end());
    for (const fem::Triangle& t : mesh.triangles) shape.triangles.insert(shape.triangles.end(), t.begin(), t.end());
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace heelstrike
