#include "fem_server/surfaces/surface_sheets.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

namespace {

/// Of 45 degrees.
constexpr double steepest = 0.5 * std::numbers::sqrt2;
/// Triangles that share a radius, so that it is looked for once: more of them take less time and get smaller radii.
constexpr std::size_t most_of_patch = 8;
/// [-] cosine of 10 degrees, by which their normals may differ.
constexpr double least_turned = 0.985;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
/// Springs next to each other meet triangles that are next to each other, if
/// their meshes are about as fine; a longer walk costs more than a search of
/// the tree.
constexpr int most_steps = 16;
/// A crossing nearer to an edge, as a share of the triangle, might be that of
/// the neighbour for TriangleTree::crossing, which lets lines pass an edge by
/// less.
constexpr double inside = 1e-8;

struct Extent {
  Vector3 low, high;
};

Extent extent_of(const std::array<Vector3, 3>& p) {
  return {p[0].cwiseMin(p[1]).cwiseMin(p[2]), p[0].cwiseMax(p[1]).cwiseMax(p[2])};
}

/// At most the distance between what is in the two.
double distance(const Extent& a, const Extent& b) {
  return (a.low - b.high).cwiseMax(b.low - a.high).cwiseMax(0.0).norm();
}

}  // namespace

SurfaceSheets::SurfaceSheets(const TriangleSurface& surface, double reach)
    : surface_(surface), cells_(surface.mesh().triangles.size()) {
  const SurfaceMesh& mesh = surface.mesh();
  for (std::uint32_t t = 0; t < cells_.size(); ++t) {
    Cell& cell = cells_[t];
    for (std::size_t k = 0; k < 3; ++k) cell.corners[k] = mesh.vertices[mesh.triangles[t][k]];
    cell.cross = triangle_cross(mesh, t);
    cell.area2 = cell.cross.norm();
    cell.neighbours.fill(t);
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
    // More than two triangles at an edge are no sheet either.
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

/// Triangles around one, turned from it by little, that have no radius yet.
SurfaceSheets::Patch SurfaceSheets::patch_around(std::uint32_t seed, std::vector<std::uint32_t>& patch_of) const {
  Patch patch{.seed = seed, .triangles = {seed}};
  patch_of[seed] = seed;
  const Vector3& normal = surface_.face_normal(seed);
  double most_turned = 1.0;
  for (std::size_t i = 0; i < patch.triangles.size(); ++i) {
    for (const std::uint32_t next : cells_[patch.triangles[i]].neighbours) {
      const double turned = surface_.face_normal(next).dot(normal);
      if (patch.triangles.size() == most_of_patch || patch_of[next] != none || at_rim(next) || turned < least_turned)
        continue;
      patch_of[next] = seed;
      patch.triangles.push_back(next);
      most_turned = std::min(most_turned, turned);
    }
  }
  // Within 45 degrees of each of them is what is nearer to the seed by the angle between the two.
  patch.steepest = std::cos(0.25 * std::numbers::pi - std::acos(std::min(1.0, most_turned)));
  return patch;
}

/// The distances to the first triangle that is not of the patch's sheet. @param marks of the triangles in the sheet
void SurfaceSheets::find_radius(const Patch& patch, double reach, std::vector<std::uint32_t>& marks) {
  const Vector3& normal = surface_.face_normal(patch.seed);
  Extent box = extent_of(cells_[patch.seed].corners);
  for (const std::uint32_t t : patch.triangles) {
    const Extent next = extent_of(cells_[t].corners);
    box = {box.low.cwiseMin(next.low), box.high.cwiseMax(next.high)};
    marks[t] = patch.seed;
  }
  std::vector<std::uint32_t> rim = patch.triangles;
  while (!rim.empty()) {
    const std::uint32_t t = rim.back();
    rim.pop_back();
    for (const std::uint32_t next : cells_[t].neighbours) {
      if (marks[next] == patch.seed || at_rim(next) || surface_.face_normal(next).dot(normal) < patch.steepest ||
          distance(box, extent_of(cells_[next].corners)) > reach)
        continue;
      marks[next] = patch.seed;
      rim.push_back(next);
    }
  }
  for (const std::uint32_t t : patch.triangles) cells_[t].radius = reach;
  const Vector3 margin = Vector3::Constant(reach);
  surface_.for_overlapping(box.low - margin, box.high + margin, [&](std::uint32_t other) {
    if (marks[other] == patch.seed) return;
    const Extent of_other = extent_of(cells_[other].corners);
    for (const std::uint32_t t : patch.triangles) {
      cells_[t].radius = std::min(cells_[t].radius, distance(extent_of(cells_[t].corners), of_other));
    }
  });
}

std::optional<SurfaceCrossing> SurfaceSheets::leaving(const Vector3& q, const Vector3& direction,
                                                      std::uint32_t near) const {
  std::uint32_t t = near;
  std::uint32_t before = near;
  for (int step = 0; step < most_steps; ++step) {
    const Cell& cell = cells_[t];
    const double through = cell.cross.dot(direction);
    if (!(through > steepest * cell.area2)) return std::nullopt;
    const Vector3 a = cell.corners[0] - q;
    const Vector3 b = cell.corners[1] - q;
    const Vector3 c = cell.corners[2] - q;
    // Shares of the corners of where the line goes through the plane of the
    // triangle, times `through`.
    const Vector3 side = direction.cross(a);
    const double of_b = -side.dot(c);
    const double of_c = side.dot(b);
    const double of_a = through - of_b - of_c;
    const double margin = inside * through;
    if (of_a > margin && of_b > margin && of_c > margin) {
      // The operations of TriangleTree::crossing, for the same bits.
      const Vector3 cross = (b - a).cross(c - a);
      const double way = cross.dot(a) / cross.dot(direction);
      if (!(2.0 * std::abs(way) < cell.radius)) return std::nullopt;
      return SurfaceCrossing{.way = way, .normal = surface_.face_normal(t), .triangle = t};
    }
    const std::size_t across = of_a <= of_b ? (of_a <= of_c ? 0 : 2) : (of_b <= of_c ? 1 : 2);
    const std::uint32_t next = cell.neighbours[across];
    if (next == t || next == before) return std::nullopt;  // a rim, or to and fro over an edge
    before = t;
    t = next;
  }
  return std::nullopt;
}

}  // namespace heelstrike::fem
