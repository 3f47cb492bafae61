#include "fem_server/backends/elastic_foundation/casting_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/surface_creases.hpp"
#include "fem_server/geometry/surface_topology.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

namespace {

/// A query for a group costs about as much as one spring; smaller leaves cause more queries.
constexpr std::size_t springs_of_leaf = 6;

std::vector<Vector3> vertex_normals(const SurfaceMesh& mesh) {
  const TriangleSurface surface(mesh);
  std::vector<Vector3> normals;
  for (std::uint32_t v = 0; v < mesh.vertices.size(); ++v) normals.push_back(surface.vertex_normal(v));
  return normals;
}

}  // namespace

CastingSurface::CastingSurface(SurfaceMesh mesh, const CastingOptions& options)
    : mesh_(std::move(mesh)), places_(options.places), pieces_(connected_components(mesh_).of_triangle) {
  const SmoothParts smooth =
      split_at_creases(mesh_, options.interpolate_normals ? min_smooth_cosine() : coplanar_cosine);
  std::vector<double> thickness = options.thickness;
  if (thickness.size() == 1) thickness.resize(mesh_.vertices.size() - smooth.origin.size(), thickness.front());
  for (const std::uint32_t v : smooth.origin) thickness.push_back(thickness[v]);
  for (std::uint32_t t = 0; t < mesh_.triangles.size(); ++t) {
    const auto& [a, b, c] = mesh_.triangles[t];
    areas_.push_back(0.5 * triangle_cross(mesh_, t).norm());
    thickness_.push_back((thickness[a] + thickness[b] + thickness[c]) / 3.0);
    const Vector3 centre = (mesh_.vertices[a] + mesh_.vertices[b] + mesh_.vertices[c]) / 3.0;
    for (const std::uint32_t v : {a, b, c}) {
      max_reach_ = std::max(max_reach_, (mesh_.vertices[v] - centre).norm());
    }
  }
  find_triangles_around();
  place_springs(options, thickness, smooth.normals);
  order_.resize(springs_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  if (places_ == SpringPlaces::vertices) {
    std::erase_if(order_, [&](std::uint32_t s) { return triangles_of(s).empty(); });
  }
  group(0, order_.size());
}

void CastingSurface::find_triangles_around() {
  begin_.assign(mesh_.vertices.size() + 1, 0);
  for (const Triangle& corners : mesh_.triangles) {
    for (const std::uint32_t v : corners) ++begin_[v + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  around_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t t = 0; t < mesh_.triangles.size(); ++t) {
    for (const std::uint32_t v : mesh_.triangles[t]) around_[next[v]++] = t;
  }
  for (std::uint32_t t = 0; t < mesh_.triangles.size(); ++t) {
    around_.push_back(t);
    begin_.push_back(static_cast<std::uint32_t>(around_.size()));
  }
}

void CastingSurface::place_springs(const CastingOptions& options, std::span<const double> thickness,
                                   const std::vector<Vector3>& normals) {
  const auto place = [&](const Vector3& point, const Vector3& normal, double thickness_here) {
    Spring spring{.point = point, .normal = normal, .thickness = thickness_here};
    if (options.shape) {
      const SurfacePoint nearest = options.shape->closest(point);
      // Near an edge of the shape the nearest point may lie on another face.
      if (nearest.normal.dot(normal) >= min_smooth_cosine()) {
        spring.point -= nearest.gap * nearest.normal;
        spring.normal = nearest.normal;
      }
    }
    springs_.push_back(spring);
  };
  if (places_ == SpringPlaces::vertices) {
    for (std::uint32_t v = 0; v < mesh_.vertices.size(); ++v) place(mesh_.vertices[v], normals[v], thickness[v]);
  }
  for (std::uint32_t t = 0; t < mesh_.triangles.size(); ++t) {
    const auto& [a, b, c] = mesh_.triangles[t];
    const Vector3 normal =
        options.interpolate_normals ? Vector3(normals[a] + normals[b] + normals[c]) : triangle_cross(mesh_, t);
    place((mesh_.vertices[a] + mesh_.vertices[b] + mesh_.vertices[c]) / 3.0, normal.normalized(), thickness_[t]);
  }
}

std::uint32_t CastingSurface::group(std::size_t begin, std::size_t end) {
  const auto index = static_cast<std::uint32_t>(groups_.size());
  groups_.emplace_back();
  Vector3 low = springs_[order_[begin]].point;
  Vector3 high = low;
  for (std::size_t i = begin; i < end; ++i) {
    low = low.cwiseMin(springs_[order_[i]].point);
    high = high.cwiseMax(springs_[order_[i]].point);
  }
  const Vector3 centre = 0.5 * (low + high);
  double radius = 0.0;
  for (std::size_t i = begin; i < end; ++i) radius = std::max(radius, (springs_[order_[i]].point - centre).norm());
  groups_[index].centre = centre;
  groups_[index].radius = radius;
  if (end - begin <= springs_of_leaf) {
    groups_[index].first = static_cast<std::uint32_t>(begin);
    groups_[index].count = static_cast<std::uint32_t>(end - begin);
    return index;
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  const std::size_t middle = begin + (end - begin) / 2;
  const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(at(begin), at(middle), at(end), [&](std::uint32_t s, std::uint32_t t) {
    return std::pair(springs_[s].point[axis], s) < std::pair(springs_[t].point[axis], t);
  });
  const std::uint32_t left = group(begin, middle);
  const std::uint32_t right = group(middle, end);
  groups_[index].first = left;
  groups_[index].right = right;
  return index;
}

void refine(SurfaceMesh& mesh, std::vector<double>& of_vertices, int levels, const SignedDistance* shape) {
  for (int level = 0; level < levels; ++level) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middles;
    const auto middle = [&](std::uint32_t a, std::uint32_t b) {
      const auto [found, is_new] = middles.try_emplace(std::minmax(a, b), mesh.vertices.size());
      if (is_new) {
        Vector3 between = 0.5 * (mesh.vertices[a] + mesh.vertices[b]);
        if (shape != nullptr) {
          const SurfacePoint nearest = shape->closest(between);
          between -= nearest.gap * nearest.normal;
        }
        mesh.vertices.push_back(between);
        if (of_vertices.size() > 1) of_vertices.push_back(0.5 * (of_vertices[a] + of_vertices[b]));
      }
      return found->second;
    };
    std::vector<Triangle> finer;
    finer.reserve(4 * mesh.triangles.size());
    std::vector<std::uint32_t> groups;
    for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
      const auto [a, b, c] = mesh.triangles[t];
      const std::uint32_t ab = middle(a, b);
      const std::uint32_t bc = middle(b, c);
      const std::uint32_t ca = middle(c, a);
      for (const Triangle& part : {Triangle{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}}) finer.push_back(part);
      if (!mesh.triangle_groups.empty()) groups.insert(groups.end(), 4, mesh.triangle_groups[t]);
    }
    mesh.triangles = std::move(finer);
    mesh.triangle_groups = std::move(groups);
  }
}

std::vector<double> thickness_over(const SurfaceMesh& surface, const SurfaceMesh& back, const BackSurfaceSearch& search,
                                   const std::string& key) {
  const std::vector<Vector3> normals = vertex_normals(surface);
  const TriangleSurface bone(back);
  std::vector<double> thickness;
  std::uint32_t near = 0;
  std::size_t in_front = 0;
  for (std::size_t v = 0; v < surface.vertices.size(); ++v) {
    const Vector3& p = surface.vertices[v];
    const NearestOnSurface nearest = bone.closest(p, near);
    near = nearest.triangle;
    if (!nearest.beside && nearest.surface.gap <= 0.0) {
      ++in_front;
      if (search.least > 0.0 && 2 * in_front <= surface.vertices.size()) {
        thickness.push_back(search.least);
        continue;
      }
      throw input_error(
          key,
          fmt::format("{}: expected the back surface below the contact surface, found it {:g} m in front of vertex "
                      "{} at ({:g}, {:g}, {:g}) m: the layer has no thickness there; exchange the two surfaces, "
                      "or reverse the triangles of one; for cartilage that tapers off at its rim set "
                      "back_min_thickness",
                      key, -nearest.surface.gap, v, p.x(), p.y(), p.z()));
    }
    // Where the surface overhangs the bone, the thickness is the distance to the rim.
    const auto below = bone.crossing(p, -normals[v], search.reach, false, near);
    const double h = below ? below->way : nearest.surface.gap < 0.0 ? -nearest.surface.gap : nearest.surface.gap;
    if (!(h > 0.0 && h <= search.reach)) {
      throw input_error(key, fmt::format("{}: expected the back surface within {:g} m below vertex {} at ({:g}, {:g}, "
                                         "{:g}) m, found it {:g} m away; use the back surface of this layer, in metres",
                                         key, search.reach, v, p.x(), p.y(), p.z(), h));
    }
    thickness.push_back(std::max(h, search.least));
  }
  return thickness;
}

}  // namespace heelstrike::fem
