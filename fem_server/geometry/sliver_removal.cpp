#include "fem_server/geometry/sliver_removal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

namespace {

using Vertices = std::vector<std::uint32_t>;

/// Working set of triangles: removed triangles are deleted from the lists of their corners.
class LocalRemeshing {
 public:
  LocalRemeshing(SurfaceMesh& mesh, const TriangleTree& original, double thickness, double within)
      : mesh_(mesh),
        original_(original),
        thickness_(thickness),
        within_(within),
        alive_(mesh.triangles.size(), true),
        around_(mesh.vertices.size()) {
    for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
      for (const std::uint32_t corner : mesh.triangles[t]) around_[corner].push_back(t);
    }
  }

  void run(SliverOutcome& outcome) {
    // Every collapse removes two triangles. Edges could be swapped back and forth: each pass changes a triangle at most
    // once, and the number of passes with swaps only is limited.
    int n_edge_swap_sweeps = 0;
    constexpr int max_edge_swap_sweeps = 10;
    while (n_edge_swap_sweeps < max_edge_swap_sweeps) {
      const std::size_t collapsed = outcome.n_collapsed;
      const std::size_t swapped = outcome.n_swapped;
      pass(outcome);
      if (outcome.n_collapsed == collapsed && outcome.n_swapped == swapped) break;
      n_edge_swap_sweeps = outcome.n_collapsed == collapsed ? n_edge_swap_sweeps + 1 : 0;
    }
  }

  void finish(SliverOutcome& outcome) {
    std::size_t kept = 0;
    for (std::uint32_t t = 0; t < alive_.size(); ++t) {
      if (!alive_[t]) continue;
      if (height(mesh_.triangles[t]) < thickness_) outcome.left.push_back(static_cast<std::uint32_t>(kept));
      mesh_.triangles[kept] = mesh_.triangles[t];
      if (!mesh_.triangle_groups.empty()) mesh_.triangle_groups[kept] = mesh_.triangle_groups[t];
      ++kept;
    }
    mesh_.triangles.resize(kept);
    if (!mesh_.triangle_groups.empty()) mesh_.triangle_groups.resize(kept);
    remove_unused_vertices(mesh_);
  }

 private:
  [[nodiscard]] const Vector3& at(std::uint32_t vertex) const { return mesh_.vertices[vertex]; }
  [[nodiscard]] Vector3 cross(const Triangle& t) const { return (at(t[1]) - at(t[0])).cross(at(t[2]) - at(t[0])); }

  /// Corner at the start of the shortest or longest edge.
  [[nodiscard]] std::size_t extreme_edge(const Triangle& t, bool longest) const {
    std::size_t best = 0;
    double length = (at(t[1]) - at(t[0])).squaredNorm();
    for (std::size_t k = 1; k < 3; ++k) {
      const double other = (at(t[(k + 1) % 3]) - at(t[k])).squaredNorm();
      if (longest ? other <= length : other >= length) continue;
      best = k;
      length = other;
    }
    return best;
  }

  /// [m] minimum height.
  [[nodiscard]] double height(const Triangle& t) const {
    const std::size_t k = extreme_edge(t, true);
    const double longest = (at(t[(k + 1) % 3]) - at(t[k])).norm();
    return longest > 0.0 ? cross(t).norm() / longest : 0.0;
  }

  /// Thinnest first.
  void pass(SliverOutcome& outcome) {
    std::vector<std::pair<double, std::uint32_t>> thin;
    for (std::uint32_t t = 0; t < alive_.size(); ++t) {
      if (!alive_[t]) continue;
      const double h = height(mesh_.triangles[t]);
      if (h < thickness_) thin.emplace_back(h, t);
    }
    std::ranges::sort(thin);
    for (const auto& [h, t] : thin) {
      if (!alive_[t] || height(mesh_.triangles[t]) >= thickness_) continue;
      if (collapse_shortest_edge(t)) {
        ++outcome.n_collapsed;
      } else if (swap_edge_of_max_length(t)) {
        ++outcome.n_swapped;
      }
    }
  }

  /// Triangles shared by both vertices.
  [[nodiscard]] Vertices triangles_at(std::uint32_t a, std::uint32_t b) const {
    Vertices both;
    for (const std::uint32_t t : around_[a]) {
      if (std::ranges::find(mesh_.triangles[t], b) != mesh_.triangles[t].end()) both.push_back(t);
    }
    return both;
  }

  /// Corners of the triangles around a vertex, excluding it; ascending, with repetitions.
  [[nodiscard]] Vertices corners_around(std::uint32_t vertex) const {
    Vertices corners;
    for (const std::uint32_t t : around_[vertex]) {
      for (const std::uint32_t corner : mesh_.triangles[t]) {
        if (corner != vertex) corners.push_back(corner);
      }
    }
    std::ranges::sort(corners);
    return corners;
  }

  /// Interior vertex: each neighbouring corner belongs to two triangles.
  [[nodiscard]] static bool is_inner(const Vertices& corners) {
    for (std::size_t i = 0; i < corners.size(); i += 2) {
      if (i + 1 >= corners.size() || corners[i + 1] != corners[i]) return false;
      if (i + 2 < corners.size() && corners[i + 2] == corners[i]) return false;
    }
    return true;
  }

  bool collapse_shortest_edge(std::uint32_t t) {
    const Triangle& corners = mesh_.triangles[t];
    const std::size_t k = extreme_edge(corners, false);
    const std::uint32_t a = corners[k];
    const std::uint32_t b = corners[(k + 1) % 3];
    if ((at(a) - at(b)).norm() > within_) return false;
    return collapse(a, b) || collapse(b, a);
  }

  /// Collapses vertex `from` to `to`.
  bool collapse(std::uint32_t from, std::uint32_t to) {
    const Vertices at_from = corners_around(from);
    if (!is_inner(at_from) || triangles_at(from, to).size() != 2) return false;
    // Link condition: the two ends may share no neighbours except the apexes of the removed triangles; otherwise the
    // surface becomes non-manifold along an edge.
    Vertices neighbours_of_from = at_from;
    Vertices neighbours_of_to = corners_around(to);
    neighbours_of_from.erase(std::unique(neighbours_of_from.begin(), neighbours_of_from.end()),
                             neighbours_of_from.end());
    neighbours_of_to.erase(std::unique(neighbours_of_to.begin(), neighbours_of_to.end()), neighbours_of_to.end());
    Vertices common;
    std::ranges::set_intersection(neighbours_of_from, neighbours_of_to, std::back_inserter(common));
    if (common.size() != 2) return false;

    std::vector<Triangle> before;
    std::vector<Triangle> after;
    Vertices changed;
    Vertices removed;
    for (const std::uint32_t t : around_[from]) {
      const Triangle& old = mesh_.triangles[t];
      before.push_back(old);
      if (std::ranges::find(old, to) != old.end()) {
        removed.push_back(t);
        continue;
      }
      Triangle moved = old;
      std::ranges::replace(moved, from, to);
      after.push_back(moved);
      changed.push_back(t);
    }
    if (after.empty() || !can_replace(before, after)) return false;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      mesh_.triangles[changed[i]] = after[i];
      around_[to].push_back(changed[i]);
    }
    for (const std::uint32_t t : removed) {
      alive_[t] = false;
      for (const std::uint32_t corner : mesh_.triangles[t]) std::erase(around_[corner], t);
    }
    around_[from].clear();
    return true;
  }

  /// Replaces the longest edge by that between the two opposite corners.
  bool swap_edge_of_max_length(std::uint32_t t) {
    const Triangle own = mesh_.triangles[t];
    const std::size_t k = extreme_edge(own, true);
    const std::uint32_t a = own[k];
    const std::uint32_t b = own[(k + 1) % 3];
    const std::uint32_t c = own[(k + 2) % 3];
    const Vertices both = triangles_at(a, b);
    if (both.size() != 2) return false;
    const std::uint32_t s = both[0] == t ? both[1] : both[0];
    const Triangle other = mesh_.triangles[s];
    const auto at_d = std::ranges::find_if(other, [&](std::uint32_t v) { return v != a && v != b; });
    if (at_d == other.end() || *at_d == c || !triangles_at(c, *at_d).empty()) return false;
    const std::uint32_t d = *at_d;
    const std::vector<Triangle> after{{c, a, d}, {d, b, c}};
    if (std::min(height(after[0]), height(after[1])) <= std::min(height(own), height(other))) return false;
    if (!can_replace({own, other}, after)) return false;
    mesh_.triangles[t] = after[0];
    mesh_.triangles[s] = after[1];
    std::erase(around_[b], t);
    std::erase(around_[a], s);
    around_[d].push_back(t);
    around_[c].push_back(s);
    return true;
  }

  /// Whether a set of triangles may be replaced by another.
  [[nodiscard]] bool can_replace(const std::vector<Triangle>& before, const std::vector<Triangle>& after) const {
    // Normals of slivers are arbitrary; area weighting makes them negligible.
    Vector3 mean = Vector3::Zero();
    for (const Triangle& t : before) mean += cross(t);
    for (const Triangle& t : after) {
      const Vector3 n = cross(t);
      if (height(t) < thickness_) continue;  // slivers are checked when they are removed themselves
      if (!preserves_orientation(t, n, before, mean)) return false;
    }
    return std::ranges::all_of(after, [&](const Triangle& t) { return is_near_original(t); }) && covers(before, after);
  }

  /// Whether the normal agrees with that of a replaced triangle or with their mean.
  [[nodiscard]] bool preserves_orientation(const Triangle& t, const Vector3& n, const std::vector<Triangle>& before,
                                           const Vector3& mean) const {
    // The replaced triangle is the one with the closest centroid.
    const Vector3 middle = (at(t[0]) + at(t[1]) + at(t[2])) / 3.0;
    double nearest = std::numeric_limits<double>::infinity();
    Vector3 there = mean;
    for (const Triangle& old : before) {
      if (height(old) < thickness_) continue;
      const Vector3 p = closest_on_triangle(middle, at(old[0]), at(old[1]), at(old[2]));
      const double distance = (p - middle).squaredNorm();
      if (distance >= nearest) continue;
      nearest = distance;
      there = cross(old);
    }
    return n.dot(there) > 0.0;
  }

  /// Tests the midpoints of edges and face; corners are original vertices.
  [[nodiscard]] bool is_near_original(const Triangle& t) const {
    const std::array<Vector3, 4> samples{0.5 * (at(t[0]) + at(t[1])), 0.5 * (at(t[1]) + at(t[2])),
                                         0.5 * (at(t[2]) + at(t[0])), (at(t[0]) + at(t[1]) + at(t[2])) / 3.0};
    return std::ranges::all_of(samples, [&](const Vector3& p) { return original_.closest(p).distance <= within_; });
  }

  /// Whether corners and midpoints of the removed triangles lie near the new ones.
  [[nodiscard]] bool covers(const std::vector<Triangle>& before, const std::vector<Triangle>& after) const {
    const auto near = [&](const Vector3& p) {
      return std::ranges::any_of(after, [&](const Triangle& t) {
        return (closest_on_triangle(p, at(t[0]), at(t[1]), at(t[2])) - p).norm() <= within_;
      });
    };
    return std::ranges::all_of(before, [&](const Triangle& t) {
      return near(at(t[0])) && near(at(t[1])) && near(at(t[2])) && near((at(t[0]) + at(t[1]) + at(t[2])) / 3.0);
    });
  }

  SurfaceMesh& mesh_;
  const TriangleTree& original_;
  double thickness_;
  double within_;
  std::vector<bool> alive_;
  std::vector<Vertices> around_;  ///< triangles of each vertex
};

}  // namespace

SliverOutcome remove_slivers(SurfaceMesh& mesh, double thickness, double within) {
  for (const auto& [name, length] : {std::pair("slivers", thickness), std::pair("within", within)}) {
    if (length > 0.0 && std::isfinite(length)) continue;
    throw input_error(name, fmt::format("{}: expected a length above 0 m, found {} m", name, length));
  }
  SliverOutcome outcome;
  if (mesh.triangles.empty()) return outcome;
  const SurfaceMesh before = mesh;
  const TriangleTree original(before);
  LocalRemeshing remeshing(mesh, original, thickness, within);
  remeshing.run(outcome);
  remeshing.finish(outcome);
  outcome.moved =
      std::max(find_farthest_point(mesh, original).distance, find_farthest_point(before, TriangleTree(mesh)).distance);
  return outcome;
}

}  // namespace heelstrike::fem
