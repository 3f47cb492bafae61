#include "fem_server/surfaces/surface_sheets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

namespace {

/// Cosine of 45 degrees.
constexpr double steepest = 0.5 * std::numbers::sqrt2;
/// Triangles that share one radius search: larger patches are faster to prepare but get smaller radii.
constexpr std::size_t max_patch_triangles = 8;
/// [-] cosine of 10 degrees, the maximum angle between their normals.
constexpr double min_coplanar_cosine = 0.985;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
/// Adjacent springs project to adjacent triangles if the meshes are similarly fine; a longer walk costs more than a
/// tree search.
constexpr int max_steps = 16;
/// [-] barycentric margin to an edge: closer crossings may be assigned to the neighbour by TriangleTree::crossing,
/// whose edge tolerance is smaller.
constexpr double inside = 1e-8;

using Vector4 = Eigen::Matrix<double, 4, 1>;

struct Extent {
  Vector3 low, high;
};

Extent extent_of(const SurfaceMesh& mesh, std::uint32_t triangle) {
  const auto& [i, j, k] = mesh.triangles[triangle];
  const Vector3& a = mesh.vertices[i];
  const Vector3& b = mesh.vertices[j];
  const Vector3& c = mesh.vertices[k];
  return {a.cwiseMin(b).cwiseMin(c), a.cwiseMax(b).cwiseMax(c)};
}

/// Lower bound of the distance between the contents of the two.
double distance(const Extent& a, const Extent& b) {
  return (a.low - b.high).cwiseMax(b.low - a.high).cwiseMax(0.0).norm();
}

}  // namespace

SurfaceSheets::SurfaceSheets(const TriangleSurface& surface, double reach)
    : surface_(surface), cells_(surface.mesh().triangles.size()) {
  const SurfaceMesh& mesh = surface.mesh();
  for (std::uint32_t t = 0; t < cells_.size(); ++t) {
    const auto& [i, j, k] = mesh.triangles[t];
    const Vector3& a = mesh.vertices[i];
    const Vector3 along = triangle_cross(mesh, t) / triangle_cross(mesh, t).squaredNorm();
    cells_[t].plane << surface.face_normal(t).transpose(), (mesh.vertices[k] - a).cross(along).transpose(),
        along.cross(mesh.vertices[j] - a).transpose(), a.transpose();
    cells_[t].neighbours.fill(t);
  }
  find_neighbours();
  std::vector<std::uint32_t> patch_of(cells_.size(), none);
  std::vector<std::uint32_t> marks(cells_.size(), none);
  for (std::uint32_t t = 0; t < cells_.size(); ++t) {
    if (patch_of[t] == none && !at_rim(t)) find_radius(patch_around(t, patch_of), reach, marks);
  }
}

void SurfaceSheets::find_neighbours() {
  const auto opposite = [this](const EdgeUse& use) {
    const Triangle& corners = surface_.mesh().triangles[use.triangle];
    std::size_t k = 0;
    while (corners[k] == use.edge[0] || corners[k] == use.edge[1]) ++k;
    return k;
  };
  const std::vector<EdgeUse> uses = edge_uses(surface_.mesh());
  for (std::size_t begin = 0; begin < uses.size();) {
    const std::size_t end = end_of_edge(uses, begin);
    // Edges with more than two triangles do not belong to a sheet either.
    if (end - begin == 2) {
      const EdgeUse& a = uses[begin];
      const EdgeUse& b = uses[begin + 1];
      cells_[a.triangle].neighbours[opposite(a)] = b.triangle;
      cells_[b.triangle].neighbours[opposite(b)] = a.triangle;
    }
    begin = end;
  }
}

bool SurfaceSheets::at_rim(std::uint32_t t) const {
  return std::ranges::find(cells_[t].neighbours, t) != cells_[t].neighbours.end();
}

/// Triangles around a seed with similar normals that have no radius yet.
SurfaceSheets::Patch SurfaceSheets::patch_around(std::uint32_t seed, std::vector<std::uint32_t>& patch_of) const {
  Patch patch{.seed = seed, .triangles = {seed}};
  patch_of[seed] = seed;
  const Vector3& normal = surface_.face_normal(seed);
  double min_normal_cosine = 1.0;
  for (std::size_t i = 0; i < patch.triangles.size(); ++i) {
    for (const std::uint32_t next : cells_[patch.triangles[i]].neighbours) {
      const double turned = surface_.face_normal(next).dot(normal);
      if (patch.triangles.size() == max_patch_triangles || patch_of[next] != none || at_rim(next) ||
          turned < min_coplanar_cosine)
        continue;
      patch_of[next] = seed;
      patch.triangles.push_back(next);
      min_normal_cosine = std::min(min_normal_cosine, turned);
    }
  }
  // A direction is within 45 degrees of all of them if its angle to the seed is smaller by their maximum deviation.
  patch.steepest = std::cos(0.25 * std::numbers::pi - std::acos(std::min(1.0, min_normal_cosine)));
  return patch;
}

/// Distances to the first triangle outside the sheet of the patch. @param marks  triangles in the sheet
void SurfaceSheets::find_radius(const Patch& patch, double reach, std::vector<std::uint32_t>& marks) {
  const Vector3& normal = surface_.face_normal(patch.seed);
  const SurfaceMesh& mesh = surface_.mesh();
  Extent box = extent_of(mesh, patch.seed);
  for (const std::uint32_t t : patch.triangles) {
    const Extent next = extent_of(mesh, t);
    box = {box.low.cwiseMin(next.low), box.high.cwiseMax(next.high)};
    marks[t] = patch.seed;
  }
  std::vector<std::uint32_t> rim = patch.triangles;
  while (!rim.empty()) {
    const std::uint32_t t = rim.back();
    rim.pop_back();
    for (const std::uint32_t next : cells_[t].neighbours) {
      if (marks[next] == patch.seed || at_rim(next) || surface_.face_normal(next).dot(normal) < patch.steepest ||
          distance(box, extent_of(mesh, next)) > reach)
        continue;
      marks[next] = patch.seed;
      rim.push_back(next);
    }
  }
  for (const std::uint32_t t : patch.triangles) cells_[t].radius = reach;
  const Vector3 margin = Vector3::Constant(reach);
  surface_.for_overlapping(box.low - margin, box.high + margin, [&](std::uint32_t other) {
    if (marks[other] == patch.seed) return;
    const Extent of_other = extent_of(mesh, other);
    for (const std::uint32_t t : patch.triangles) {
      cells_[t].radius = std::min(cells_[t].radius, distance(extent_of(mesh, t), of_other));
    }
  });
}

std::optional<SurfaceCrossing> SurfaceSheets::leaving(const Vector3& q, const Vector3& direction,
                                                      std::uint32_t near) const {
  std::uint32_t t = near;
  std::uint32_t before = near;
  for (int step = 0; step < max_steps; ++step) {
    // Height over the triangle plane and two barycentric coordinates, at q and as rates along the line. Same operations
    // as TriangleSurface::crossing, for identical bits.
    const auto& plane = cells_[t].plane;
    const Vector4 along = plane.col(0) * direction.x() + plane.col(1) * direction.y() + plane.col(2) * direction.z();
    const double through = along[0];
    if (!(through > steepest)) return std::nullopt;
    const Vector4 at_q = plane.col(0) * (q.x() - plane(3, 0)) + plane.col(1) * (q.y() - plane(3, 1)) +
                         plane.col(2) * (q.z() - plane(3, 2));
    // Barycentric coordinates of the intersection with the plane, times `through`.
    const Vector4 shares = at_q * through - along * at_q[0];
    const double of_b = shares[1];
    const double of_c = shares[2];
    const double of_a = through - of_b - of_c;
    if (std::min({of_a, of_b, of_c}) > inside) {
      const double way = -at_q[0] / through;
      if (!(2.0 * std::abs(way) < cells_[t].radius)) return std::nullopt;
      return SurfaceCrossing{.way = way, .normal = plane.row(0), .triangle = t};
    }
    const std::size_t across = of_c < std::min(of_a, of_b) ? 2 : of_b < of_a ? 1 : 0;
    const std::uint32_t next = cells_[t].neighbours[across];
    if (next == t || next == before) return std::nullopt;  // rim, or oscillation across an edge
    before = t;
    t = next;
  }
  return std::nullopt;
}

}  // namespace heelstrike::fem
