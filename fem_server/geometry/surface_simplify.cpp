#include "fem_server/geometry/surface_simplify.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>

#include "common/spatial/extents.hpp"
#include "fem_server/geometry/surface_repair.hpp"

namespace heelstrike::fem {
namespace {

using GridCell = std::array<std::int64_t, 3>;

SurfaceMesh clustered(const SurfaceMesh& mesh, const Vector3& origin, double size) {
  SurfaceMesh coarse;
  std::map<GridCell, std::uint32_t> cells;
  std::vector<std::uint32_t> vertex_of(mesh.vertices.size());
  std::vector<double> counts;
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) {
    const Vector3 at = (mesh.vertices[v] - origin) / size;
    const GridCell cell = {static_cast<std::int64_t>(std::floor(at.x())), static_cast<std::int64_t>(std::floor(at.y())),
                           static_cast<std::int64_t>(std::floor(at.z()))};
    const auto [found, is_new] = cells.try_emplace(cell, static_cast<std::uint32_t>(coarse.vertices.size()));
    if (is_new) {
      coarse.vertices.emplace_back(Vector3::Zero());
      counts.push_back(0.0);
    }
    vertex_of[v] = found->second;
    coarse.vertices[found->second] += mesh.vertices[v];
    counts[found->second] += 1.0;
  }
  for (std::size_t v = 0; v < counts.size(); ++v) coarse.vertices[v] /= counts[v];
  for (const Triangle& corners : mesh.triangles) {
    const Triangle moved = {vertex_of[corners[0]], vertex_of[corners[1]], vertex_of[corners[2]]};
    if (moved[0] != moved[1] && moved[1] != moved[2] && moved[2] != moved[0]) coarse.triangles.push_back(moved);
  }
  remove_duplicate_triangles(coarse);
  return coarse;
}

}  // namespace

SurfaceMesh simplified_surface(const SurfaceMesh& mesh, std::size_t max_triangles) {
  if (mesh.triangles.size() <= max_triangles || mesh.vertices.empty()) {
    SurfaceMesh same;
    same.vertices = mesh.vertices;
    same.triangles = mesh.triangles;
    return same;
  }
  Vector3 low = mesh.vertices.front();
  for (const Vector3& vertex : mesh.vertices) low = low.cwiseMin(vertex);
  const double whole = std::max(extents_of(mesh.vertices).maxCoeff(), 1e-12);
  // A flat surface has two triangles per intersected cell; an inclined one intersects more cells.
  double size = std::max(std::sqrt(surface_area(mesh) / static_cast<double>(max_triangles)), 1e-6 * whole);
  // The number decreases with the square of the size. Cells larger than the surface leave no triangle.
  while (size < 4.0 * whole) {
    SurfaceMesh coarse = clustered(mesh, low, size);
    if (coarse.triangles.size() <= max_triangles) return coarse;
    const double excess = static_cast<double>(coarse.triangles.size()) / static_cast<double>(max_triangles);
    size *= std::max(1.03, std::sqrt(excess));
  }
  return clustered(mesh, low, size);
}

}  // namespace heelstrike::fem
