#include "fem_server/geometry/surface_repair.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/sliver_removal.hpp"
#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Removes the triangles marked in `drop`.
std::size_t remove_triangles(SurfaceMesh& mesh, const std::vector<bool>& drop) {
  std::size_t n_kept = 0;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    if (drop[t]) continue;
    mesh.triangles[n_kept] = mesh.triangles[t];
    if (!mesh.triangle_groups.empty()) mesh.triangle_groups[n_kept] = mesh.triangle_groups[t];
    ++n_kept;
  }
  const std::size_t n_dropped = mesh.triangles.size() - n_kept;
  mesh.triangles.resize(n_kept);
  if (!mesh.triangle_groups.empty()) mesh.triangle_groups.resize(n_kept);
  return n_dropped;
}

struct Cell {
  std::int64_t x, y, z;
  bool operator==(const Cell&) const = default;
};
struct CellHash {
  std::size_t operator()(const Cell& c) const {
    const auto mix = [](std::uint64_t h, std::int64_t v) {
      return (h ^ static_cast<std::uint64_t>(v)) * 0x9e3779b97f4a7c15ULL;
    };
    return mix(mix(mix(0x51ed270b, c.x), c.y), c.z) >> 7U;
  }
};

Cell cell_of(const Vector3& p, double size) {
  // Far from the origin, in units of the tolerance, cell indices would overflow.
  constexpr double largest = 4e18;
  const auto index = [&](double x) {
    return static_cast<std::int64_t>(std::clamp(std::floor(x / size), -largest, largest));
  };
  return {index(p.x()), index(p.y()), index(p.z())};
}

/// Vertex loops of the holes, in the orientation of the new triangles.
std::vector<std::vector<std::uint32_t>> boundary_loops(const SurfaceMesh& mesh) {
  // A new triangle traverses an open edge opposite to the existing one: from its end to its start.
  std::map<std::uint32_t, std::vector<std::uint32_t>> next;
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t i = 0; i < uses.size();) {
    const std::size_t end = end_of_edge(uses, i);
    if (end == i + 1) {
      const auto [low, high] = uses[i].edge;
      const bool forward = uses[i].forward;
      next[forward ? high : low].push_back(forward ? low : high);
    }
    i = end;
  }
  std::vector<std::vector<std::uint32_t>> loops;
  std::map<std::uint32_t, bool> visited;
  for (const auto& [start, unused] : next) {
    std::vector<std::uint32_t> loop;
    std::uint32_t at = start;
    // Where two holes share a vertex the loop is not unique; such holes stay open.
    while (!visited[at] && next.contains(at) && next[at].size() == 1) {
      visited[at] = true;
      loop.push_back(at);
      at = next[at].front();
    }
    if (loop.size() >= 3 && at == start) loops.push_back(std::move(loop));
  }
  return loops;
}

double area(const SurfaceMesh& mesh, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return 0.5 * (mesh.vertices[b] - mesh.vertices[a]).cross(mesh.vertices[c] - mesh.vertices[a]).norm();
}

/// Minimum-area triangulation of one loop.
std::vector<Triangle> triangulate_min_area(const SurfaceMesh& mesh, const std::vector<std::uint32_t>& loop) {
  const std::size_t n = loop.size();
  std::vector<double> cost(n * n, 0.0);
  std::vector<std::size_t> split(n * n, 0);
  // cost(i, j) is the minimum area of the polygon i ... j: the triangle on the edge (i, j) plus the two adjacent
  // polygons [liepa2003].
  for (std::size_t width = 2; width < n; ++width) {
    for (std::size_t i = 0; i + width < n; ++i) {
      const std::size_t j = i + width;
      cost[i * n + j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i + 1; k < j; ++k) {
        const double sum = cost[i * n + k] + cost[k * n + j] + area(mesh, loop[i], loop[k], loop[j]);
        // Strict comparison keeps the first of equal triangulations.
        if (sum >= cost[i * n + j]) continue;
        cost[i * n + j] = sum;
        split[i * n + j] = k;
      }
    }
  }
  std::vector<Triangle> triangles;
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, n - 1}};
  while (!open.empty()) {
    const auto [i, j] = open.back();
    open.pop_back();
    if (j - i < 2) continue;
    const std::size_t k = split[i * n + j];
    triangles.push_back({loop[i], loop[k], loop[j]});
    open.emplace_back(i, k);
    open.emplace_back(k, j);
  }
  return triangles;
}

/// Marks the triangles to be reversed so that every component has the winding of its first triangle.
std::vector<bool> find_inconsistent_winding(const SurfaceMesh& mesh) {
  struct Link {
    std::uint32_t to;
    bool opposite;
  };
  std::vector<std::vector<Link>> links(mesh.triangles.size());
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t i = 0; i < uses.size();) {
    const std::size_t end = end_of_edge(uses, i);
    if (end == i + 2) {
      // Two triangles of equal winding traverse their common edge in opposite directions.
      const bool opposite = uses[i].forward == uses[i + 1].forward;
      links[uses[i].triangle].push_back({uses[i + 1].triangle, opposite});
      links[uses[i + 1].triangle].push_back({uses[i].triangle, opposite});
    }
    i = end;
  }
  std::vector<bool> reversed(mesh.triangles.size(), false);
  std::vector<bool> reached(mesh.triangles.size(), false);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t seed = 0; seed < mesh.triangles.size(); ++seed) {
    if (reached[seed]) continue;
    reached[seed] = true;
    stack.assign(1, seed);
    while (!stack.empty()) {
      const std::uint32_t t = stack.back();
      stack.pop_back();
      for (const Link link : links[t]) {
        if (reached[link.to]) continue;
        reached[link.to] = true;
        // Edges with more than two triangles are excluded: no winding is consistent there.
        reversed[link.to] = reversed[t] != link.opposite;
        stack.push_back(link.to);
      }
    }
  }
  return reversed;
}

}  // namespace

std::size_t merge_near_vertices(SurfaceMesh& mesh, double tolerance) {
  if (!(tolerance > 0.0) || !std::isfinite(tolerance)) {
    throw input_error("merge_tolerance",
                      fmt::format("merge_tolerance: expected a length above 0 m, found {} m", tolerance));
  }
  std::unordered_map<Cell, std::vector<std::uint32_t>, CellHash> grid;
  std::vector<std::uint32_t> new_index(mesh.vertices.size());
  std::vector<Vector3> kept;
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vector3& p = mesh.vertices[i];
    const Cell center = cell_of(p, tolerance);
    std::uint32_t match = none;
    for (int k = 0; k < 27; ++k) {
      // Cells of the tolerance size: all vertices within it lie in the cell of the point or in one of its 26
      // neighbours.
      const auto bucket = grid.find({center.x + k % 3 - 1, center.y + k / 3 % 3 - 1, center.z + k / 9 - 1});
      if (bucket == grid.end()) continue;
      for (const std::uint32_t other : bucket->second) {
        // Compared with kept vertices only, never with merged ones, so that chains of close points do not collapse.
        if (other < match && (kept[other] - p).norm() <= tolerance) match = other;
      }
    }
    if (match == none) {
      match = static_cast<std::uint32_t>(kept.size());
      kept.push_back(p);
      grid[center].push_back(match);
    }
    new_index[i] = match;
  }
  const std::size_t n_merged = mesh.vertices.size() - kept.size();
  mesh.vertices = std::move(kept);
  for (Triangle& triangle : mesh.triangles) {
    for (std::uint32_t& corner : triangle) corner = new_index[corner];
  }
  return n_merged;
}

std::size_t remove_degenerate_triangles(SurfaceMesh& mesh) {
  constexpr double relative_height = 1e-10;  // as check_surface
  std::vector<bool> drop(mesh.triangles.size(), false);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const Triangle& c = mesh.triangles[t];
    double longest = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
      longest = std::max(longest, (mesh.vertices[c[(i + 1) % 3]] - mesh.vertices[c[i]]).squaredNorm());
    }
    drop[t] = triangle_cross(mesh, t).norm() <= relative_height * longest;
  }
  return remove_triangles(mesh, drop);
}

namespace {

/// @param key_of  reorders the corners of a triangle such that duplicates are equal
template <typename KeyOf>
std::size_t remove_equal_triangles(SurfaceMesh& mesh, const KeyOf& key_of) {
  std::vector<std::pair<Triangle, std::size_t>> keys;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    Triangle key = mesh.triangles[t];
    key_of(key);
    keys.emplace_back(key, t);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<bool> drop(mesh.triangles.size(), false);
  for (std::size_t i = 1; i < keys.size(); ++i) drop[keys[i].second] = keys[i].first == keys[i - 1].first;
  return remove_triangles(mesh, drop);
}

}  // namespace

std::size_t remove_duplicate_triangles(SurfaceMesh& mesh) {
  return remove_equal_triangles(mesh, [](Triangle& corners) { std::ranges::sort(corners); });
}

std::size_t remove_repeated_triangles(SurfaceMesh& mesh) {
  return remove_equal_triangles(
      mesh, [](Triangle& corners) { std::ranges::rotate(corners, std::ranges::min_element(corners)); });
}

std::size_t reorient_triangles(SurfaceMesh& mesh) {
  std::vector<bool> reversed = find_inconsistent_winding(mesh);
  SurfaceMesh consistent = mesh;
  for (std::size_t t = 0; t < reversed.size(); ++t) {
    if (reversed[t]) std::swap(consistent.triangles[t][1], consistent.triangles[t][2]);
  }
  const Components components = connected_components(consistent);
  const std::vector<ComponentVolume> bodies = component_volumes(consistent, components);
  std::size_t n_reversed = 0;
  for (std::size_t t = 0; t < reversed.size(); ++t) {
    const ComponentVolume& body = bodies[components.of_triangle[t]];
    // Open pieces have no outside and keep the winding of their first triangle.
    const bool wrong_side = body.closed && (body.volume > 0.0) == body.cavity;
    // Reversed twice is unchanged.
    if (reversed[t] == wrong_side) continue;
    std::swap(mesh.triangles[t][1], mesh.triangles[t][2]);
    ++n_reversed;
  }
  return n_reversed;
}

std::size_t fill_holes(SurfaceMesh& mesh, std::size_t max_edges) {
  std::size_t n_filled = 0;
  for (const auto& loop : boundary_loops(mesh)) {
    if (loop.size() > max_edges) continue;
    for (const Triangle& triangle : triangulate_min_area(mesh, loop)) {
      mesh.triangles.push_back(triangle);
      if (!mesh.triangle_groups.empty()) {
        const std::string name = "filled";
        const auto found = std::find(mesh.group_names.begin(), mesh.group_names.end(), name);
        mesh.triangle_groups.push_back(static_cast<std::uint32_t>(found - mesh.group_names.begin()));
        if (found == mesh.group_names.end()) mesh.group_names.push_back(name);
      }
    }
    ++n_filled;
  }
  return n_filled;
}

namespace {

void report_slivers(SurfaceMesh& mesh, const RepairOptions& options, std::vector<std::string>& done) {
  const double within = options.sliver_distance != 0.0 ? options.sliver_distance : 2.0 * options.sliver_thickness;
  const SliverOutcome outcome = remove_slivers(mesh, options.sliver_thickness, within);
  if (outcome.n_collapsed + outcome.n_swapped > 0) {
    done.push_back(
        fmt::format("{} edges collapsed and {} swapped to remove triangles thinner than {:g} m; the "
                    "surface moved by at most {:.3g} m",
                    outcome.n_collapsed, outcome.n_swapped, options.sliver_thickness, outcome.moved));
  }
  if (outcome.left.empty()) return;
  const Triangle& t = mesh.triangles[outcome.left.front()];
  const Vector3 p = (mesh.vertices[t[0]] + mesh.vertices[t[1]] + mesh.vertices[t[2]]) / 3.0;
  done.push_back(
      fmt::format("{} triangles thinner than {:g} m remain, the first at ({:.6g}, {:.6g}, {:.6g}) m: there "
                  "the surface would move by more than {:g} m, or fold",
                  outcome.left.size(), options.sliver_thickness, p.x(), p.y(), p.z(), within));
}

}  // namespace

std::vector<std::string> repair_surface(SurfaceMesh& mesh, const RepairOptions& options) {
  constexpr std::size_t max_loop_edges = 2000;  // n^2 memory and n^3 time
  if (options.max_hole_edges > max_loop_edges) {
    throw input_error("max_hole_edges", fmt::format("max_hole_edges: expected at most {}, found {}", max_loop_edges,
                                                    options.max_hole_edges));
  }
  std::vector<std::string> done;
  const auto report = [&](std::size_t n, std::string_view what) {
    if (n > 0) done.push_back(fmt::format("{} {}", n, what));
  };
  if (options.merge_tolerance != 0.0) {
    report(merge_near_vertices(mesh, options.merge_tolerance),
           fmt::format("vertices merged within {:.6g} m", options.merge_tolerance));
  }
  if (options.remove_degenerate) report(remove_degenerate_triangles(mesh), "triangles without area removed");
  if (options.remove_duplicate) report(remove_duplicate_triangles(mesh), "repeated triangles removed");
  if (options.sliver_thickness != 0.0) report_slivers(mesh, options, done);
  if (options.reorient) report(reorient_triangles(mesh), "triangles reversed");
  if (options.max_hole_edges > 0) {
    const std::size_t n = fill_holes(mesh, options.max_hole_edges);
    report(n, fmt::format("holes of at most {} edges filled", options.max_hole_edges));
    // An inverted component may not have been recognised as closed before.
    if (n > 0 && options.reorient) report(reorient_triangles(mesh), "triangles reversed after filling holes");
  }
  return done;
}

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
