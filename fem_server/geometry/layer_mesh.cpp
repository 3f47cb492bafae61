#include "fem_server/geometry/layer_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/geometry/volume_check.hpp"

namespace heelstrike::fem {

namespace {

/// Passes that average the directions of folded columns with their neighbours; each extends the region by one ring of
/// vertices.
constexpr int max_smoothing_sweeps = 60;
/// Passes after these, each of which shortens folded columns by a factor, to a fiftieth at most: where the outer
/// surface is bent around an edge, no direction avoids folds of the full thickness.
constexpr int max_shortening_sweeps = 20;
constexpr double shortening = 0.82;
/// Mean ratio below which an element counts as folded.
constexpr double min_quality = 0.02;

void check_options(const LayerOptions& options) {
  if (options.layers < 1 || options.layers > max_layers) {
    throw input_error("layers", fmt::format("layers: expected 1 to {}, found {}", max_layers, options.layers));
  }
  for (const auto& [name, value] :
       {std::pair("search_distance", options.search_distance), std::pair("min_thickness", options.min_thickness)}) {
    if (value > 0.0 && std::isfinite(value)) continue;
    throw input_error(name, fmt::format("{}: expected a length above 0 m, found {} m", name, value));
  }
}

void check_outer(const SurfaceMesh& outer) {
  SurfaceReport report = check_surface(outer);
  std::erase_if(report.findings, [](const SurfaceFinding& f) { return f.defect == SurfaceDefect::open_edge; });
  require_valid(report, "outer surface");
}

std::vector<Vector3> vertex_normals(const SurfaceMesh& mesh) {
  std::vector<Vector3> normals(mesh.vertices.size(), Vector3::Zero());
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    for (const std::uint32_t corner : mesh.triangles[t]) normals[corner] += triangle_cross(mesh, t);
  }
  for (Vector3& n : normals) n.normalize();
  return normals;
}

std::vector<std::vector<std::uint32_t>> neighbours(const SurfaceMesh& mesh) {
  std::vector<std::vector<std::uint32_t>> result(mesh.vertices.size());
  for (const Triangle& t : mesh.triangles) {
    for (std::size_t k = 0; k < 3; ++k) {
      result[t[k]].push_back(t[(k + 1) % 3]);
      result[t[k]].push_back(t[(k + 2) % 3]);
    }
  }
  for (auto& list : result) {
    std::ranges::sort(list);
    const auto repeated = std::ranges::unique(list);
    list.erase(repeated.begin(), repeated.end());
  }
  return result;
}

/// Vectors from every outer vertex to its inner node.
class SlipPaths {
 public:
  SlipPaths(const SurfaceMesh& outer, const TriangleTree& inner, const LayerOptions& options, LayerMesh& result)
      : SlipPaths(outer) {
    find(inner, options, result);
    fill_adjacent(inner, options, result);
  }
  SlipPaths(const SurfaceMesh& outer, double thickness) : SlipPaths(outer) {
    for (std::size_t v = 0; v < offsets_.size(); ++v) offsets_[v] = -thickness * normals_[v];
  }

  [[nodiscard]] const std::vector<Vector3>& offsets() const { return offsets_; }

  [[nodiscard]] bool is_beyond_rim(std::size_t vertex) const { return beyond_rim_[vertex]; }

  /// Averages the vectors of these vertices and of adjacent vertices with their neighbours.
  void smooth(const std::vector<bool>& folded) {
    const std::vector<Vector3> before = offsets_;
    for (std::size_t v = 0; v < offsets_.size(); ++v) {
      const bool close = folded[v] || std::ranges::any_of(near_[v], [&](std::uint32_t w) { return folded[w]; });
      if (!close) continue;
      Vector3 sum = before[v];
      for (const std::uint32_t w : near_[v]) sum += before[w];
      offsets_[v] = sum / static_cast<double>(near_[v].size() + 1);
      smoothed_[v] = true;
    }
  }
  void shorten(const std::vector<bool>& folded) {
    for (std::size_t v = 0; v < offsets_.size(); ++v) {
      if (!folded[v]) continue;
      offsets_[v] *= shortening;
      shortened_[v] = true;
    }
  }
  [[nodiscard]] std::size_t n_shortened() const {
    return static_cast<std::size_t>(std::ranges::count(shortened_, true));
  }
  [[nodiscard]] std::size_t n_smoothed() const { return static_cast<std::size_t>(std::ranges::count(smoothed_, true)); }

 private:
  explicit SlipPaths(const SurfaceMesh& outer)
      : outer_(outer), normals_(vertex_normals(outer)), near_(neighbours(outer)) {
    offsets_.assign(outer.vertices.size(), Vector3::Zero());
    known_.assign(outer.vertices.size(), false);
    smoothed_.assign(outer.vertices.size(), false);
    shortened_.assign(outer.vertices.size(), false);
  }

  void find(const TriangleTree& inner, const LayerOptions& options, LayerMesh& result) {
    const std::size_t n = outer_.vertices.size();
    result.min_thickness = std::numeric_limits<double>::infinity();
    std::size_t n_in_front = 0;
    Vector3 in_front = Vector3::Zero();
    for (std::size_t v = 0; v < n; ++v) {
      const Vector3& p = outer_.vertices[v];
      const Vector3 back = -normals_[v];
      // The inner surface is oriented like the outer one: the ray hits its front. If the surfaces cross, the outward
      // ray hits its back.
      const auto behind = inner.crossing(p, back, options.search_distance, false, 0);
      const auto crossed = inner.crossing(p, normals_[v], options.search_distance, true, 0);
      double thickness = 0.0;
      if (behind && (!crossed || behind->ray_distance <= crossed->ray_distance)) {
        thickness = behind->ray_distance;
      } else if (crossed) {
        thickness = -crossed->ray_distance;
        if (crossed->ray_distance > options.min_thickness) {
          ++n_in_front;
          in_front = p;
        }
      } else {
        continue;
      }
      known_[v] = true;
      result.min_thickness = std::min(result.min_thickness, thickness);
      if (thickness < options.min_thickness) ++result.n_min_thickness;
      offsets_[v] = std::max(thickness, options.min_thickness) * back;
    }
    reject_wrong_side(n_in_front, in_front);
  }

  /// Surfaces of scans cross only slightly and locally; larger crossings are rejected.
  void reject_wrong_side(std::size_t n_in_front, const Vector3& where) const {
    if (2 * n_in_front <= outer_.vertices.size()) return;
    throw input_error(
        "between",
        fmt::format("between: the inner surface lies in front of the outer one at {} of {} vertices, e.g. at "
                    "({:.6g}, {:.6g}, {:.6g}) m; exchange the files, or reverse the triangles of the outer one",
                    n_in_front, outer_.vertices.size(), where.x(), where.y(), where.z()));
  }

  /// Vertices whose ray misses the inner surface take the mean vector of their neighbours, ring by ring.
  void fill_adjacent(const TriangleTree& inner, const LayerOptions& options, LayerMesh& result) {
    beyond_rim_ = known_;
    beyond_rim_.flip();
    result.n_beyond_rim = static_cast<std::size_t>(std::ranges::count(beyond_rim_, true));
    if (2 * result.n_beyond_rim > known_.size()) reject_distant_surfaces(inner, options, result.n_beyond_rim);
    for (bool progress = true; progress;) {
      progress = false;
      const std::vector<bool> before = known_;
      for (std::size_t v = 0; v < known_.size(); ++v) {
        if (before[v]) continue;
        double thickness = 0.0;
        double n = 0.0;
        for (const std::uint32_t w : near_[v]) {
          if (!before[w]) continue;
          thickness += offsets_[w].norm();
          n += 1.0;
        }
        if (n == 0.0) continue;
        offsets_[v] = -thickness / n * normals_[v];
        known_[v] = true;
        progress = true;
      }
    }
    if (std::ranges::find(known_, false) != known_.end()) reject_distant_surfaces(inner, options, result.n_beyond_rim);
  }

  [[noreturn]] void reject_distant_surfaces(const TriangleTree& inner, const LayerOptions& options,
                                            std::size_t n_beyond_rim) const {
    const auto first = std::ranges::find(known_, false);
    const Vector3& p = outer_.vertices[static_cast<std::size_t>(first - known_.begin())];
    throw input_error(
        "between",
        fmt::format("between: {} of {} vertices of the outer surface have no inner surface behind them within "
                    "search_distance = {} m, e.g. ({:.6g}, {:.6g}, {:.6g}) m, {:.4g} m from it; are both in "
                    "the same frame and unit, and do the normals of the outer one point away from the "
                    "inner one?",
                    n_beyond_rim, known_.size(), options.search_distance, p.x(), p.y(), p.z(),
                    inner.closest(p).distance));
  }

  const SurfaceMesh& outer_;
  std::vector<Vector3> normals_;
  std::vector<std::vector<std::uint32_t>> near_;
  std::vector<Vector3> offsets_;
  std::vector<bool> known_;
  std::vector<bool> beyond_rim_;
  std::vector<bool> smoothed_;
  std::vector<bool> shortened_;
};

/// Node `level` of the column under a vertex; level 0 is the outer surface.
class Columns {
 public:
  Columns(const SurfaceMesh& outer, const LayerOptions& options)
      : n_(static_cast<std::uint32_t>(outer.vertices.size())) {
    // Splitting each prism in the order of its corner numbers makes the diagonals of common sides match.
    for (Triangle corners : outer.triangles) {
      if (options.keep_prisms) {
        for (std::uint32_t level = 0; level < options.layers; ++level) add_full_columns(corners, level);
        continue;
      }
      const bool even = is_even(corners);
      std::ranges::sort(corners);
      for (std::uint32_t level = 0; level < options.layers; ++level) add_cut(corners, level, even);
    }
  }
  [[nodiscard]] std::uint32_t node(std::uint32_t vertex, std::uint32_t level) const { return level * n_ + vertex; }
  [[nodiscard]] const std::vector<std::uint32_t>& connectivity() const { return connectivity_; }

 private:
  static bool is_even(const Triangle& p) {
    const int inversions = (p[0] > p[1] ? 1 : 0) + (p[0] > p[2] ? 1 : 0) + (p[1] > p[2] ? 1 : 0);
    return inversions % 2 == 0;
  }
  /// The outer triangle faces outward: it is the top of the prism.
  void add_full_columns(const Triangle& v, std::uint32_t level) {
    for (const std::uint32_t at : {level + 1, level}) {
      for (const std::uint32_t vertex : v) connectivity_.push_back(node(vertex, at));
    }
  }
  void add_cut(const Triangle& v, std::uint32_t level, bool even) {
    const auto up = [&](std::size_t k) { return node(v[k], level); };
    const auto down = [&](std::size_t k) { return node(v[k], level + 1); };
    add({down(0), down(1), down(2), up(0)}, even);
    add({down(1), down(2), up(0), up(1)}, even);
    add({down(2), up(0), up(1), up(2)}, even);
  }
  void add(std::array<std::uint32_t, 4> tetrahedron, bool positive) {
    if (!positive) std::swap(tetrahedron[2], tetrahedron[3]);
    connectivity_.insert(connectivity_.end(), tetrahedron.begin(), tetrahedron.end());
  }
  std::uint32_t n_;
  std::vector<std::uint32_t> connectivity_;
};

void place_nodes(const SurfaceMesh& outer, const std::vector<Vector3>& offsets, std::uint32_t layers,
                 VolumeMesh& mesh) {
  mesh.nodes.clear();
  for (std::uint32_t level = 0; level <= layers; ++level) {
    const double share = static_cast<double>(level) / layers;
    for (std::size_t v = 0; v < offsets.size(); ++v) mesh.nodes.emplace_back(outer.vertices[v] + share * offsets[v]);
  }
}

/// Vertices with a folded or nearly folded element.
std::vector<bool> folded_columns(const VolumeMesh& mesh, std::size_t n_vertices, bool& any) {
  std::vector<bool> folded(n_vertices, false);
  any = false;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    if (mean_ratio(mesh, e) >= min_quality) continue;
    any = true;
    for (const std::uint32_t node : mesh.element(e)) folded[node % n_vertices] = true;
  }
  return folded;
}

/// Elements are stored per outer triangle: its groups apply to their outer faces.
void name_groups(const SurfaceMesh& outer, VolumeMesh& mesh) {
  if (outer.triangle_groups.size() != outer.triangles.size() || outer.group_names.empty()) return;
  const std::size_t below = mesh.n_elements() / outer.triangles.size();
  for (const ElementFace face : std::vector(mesh.face_sets["outer"])) {
    const std::string& name = outer.group_names[outer.triangle_groups[face.element / below]];
    if (name != "outer" && name != "inner" && name != "rim") mesh.face_sets[name].push_back(face);
  }
}

void name_faces(std::size_t n_vertices, std::uint32_t layers, VolumeMesh& mesh) {
  for (const ElementFace face : boundary_faces(mesh)) {
    const Triangle corners = face_corners(mesh, face);
    const auto all_at_level = [&](std::uint32_t level) {
      return std::ranges::all_of(corners, [&](std::uint32_t node) { return node / n_vertices == level; });
    };
    mesh.face_sets[all_at_level(0) ? "outer" : all_at_level(layers) ? "inner" : "rim"].push_back(face);
  }
  for (std::size_t v = 0; v < n_vertices; ++v) {
    mesh.node_sets["inner"].push_back(static_cast<std::uint32_t>(layers * n_vertices + v));
  }
}

[[noreturn]] void reject_folded_element(const VolumeMesh& mesh) {
  std::size_t worst = 0;
  double least = std::numeric_limits<double>::infinity();
  std::size_t n_folded = 0;
  for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
    const double quality = mean_ratio(mesh, e);
    n_folded += quality < min_quality ? 1 : 0;
    if (quality >= least) continue;
    least = quality;
    worst = e;
  }
  const Vector3 p = element_center(mesh, worst);
  throw input_error(
      "between", fmt::format("between: the layer is folded: {} elements are inverted or flat, the worst with quality "
                             "{:.3g} at ({:.6g}, {:.6g}, {:.6g}) m; smooth the surfaces there, repair slivers of the "
                             "outer one (--slivers), use another --size or a smaller --thickness, or raise "
                             "--min-thickness",
                             n_folded, least, p.x(), p.y(), p.z()));
}

/// Unused vertices have no column.
SurfaceMesh without_unused(SurfaceMesh mesh) {
  std::vector<std::uint32_t> number(mesh.vertices.size(), 0);
  for (const Triangle& t : mesh.triangles) {
    for (const std::uint32_t corner : t) number[corner] = 1;
  }
  std::vector<Vector3> kept;
  for (std::size_t v = 0; v < number.size(); ++v) {
    if (number[v] == 0) continue;
    number[v] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(mesh.vertices[v]);
  }
  mesh.vertices = std::move(kept);
  for (Triangle& t : mesh.triangles) {
    for (std::uint32_t& corner : t) corner = number[corner];
  }
  return mesh;
}

/// @param outer  without unused vertices
LayerMesh extruded(const SurfaceMesh& outer, SlipPaths& offsets, const LayerOptions& options, LayerMesh result) {
  VolumeMesh& mesh = result.mesh;
  mesh.nodes_per_element = options.keep_prisms ? 6 : 4;
  mesh.connectivity = Columns(outer, options).connectivity();
  bool folds = true;
  for (int pass = 0; pass <= max_smoothing_sweeps + max_shortening_sweeps; ++pass) {
    place_nodes(outer, offsets.offsets(), options.layers, mesh);
    const std::vector<bool> folded = folded_columns(mesh, outer.vertices.size(), folds);
    if (!folds) break;
    if (pass < max_smoothing_sweeps) {
      offsets.smooth(folded);
    } else {
      offsets.shorten(folded);
    }
  }
  if (folds) reject_folded_element(mesh);
  result.n_smoothed = offsets.n_smoothed();
  result.n_shortened = offsets.n_shortened();
  name_faces(outer.vertices.size(), options.layers, mesh);
  name_groups(outer, mesh);
  for (const Vector3& offset : offsets.offsets()) {
    result.mean_thickness += offset.norm() / static_cast<double>(outer.vertices.size());
  }
  return result;
}

}  // namespace

LayerMesh mesh_layer(const SurfaceMesh& given, const SurfaceMesh& inner, const LayerOptions& options) {
  check_options(options);
  const SurfaceMesh outer = without_unused(given);
  check_outer(outer);
  if (inner.triangles.empty()) throw input_error("between", "between: the inner surface has no triangle");
  const TriangleTree tree(inner);
  LayerMesh result;
  SlipPaths offsets(outer, tree, options, result);
  result = extruded(outer, offsets, options, std::move(result));
  for (std::size_t v = 0; v < outer.vertices.size(); ++v) {
    if (offsets.is_beyond_rim(v)) continue;
    result.deviation = std::max(result.deviation, tree.closest(outer.vertices[v] + offsets.offsets()[v]).distance);
  }
  return result;
}

LayerMesh mesh_layer(const SurfaceMesh& given, double thickness, const LayerOptions& options) {
  check_options(options);
  if (!(thickness > 0.0) || !std::isfinite(thickness)) {
    throw input_error("thickness", fmt::format("thickness: expected a length above 0 m, found {} m", thickness));
  }
  const SurfaceMesh outer = without_unused(given);
  check_outer(outer);
  SlipPaths offsets(outer, thickness);
  return extruded(outer, offsets, options, {.mesh = {}, .min_thickness = thickness});
}

}  // namespace heelstrike::fem
