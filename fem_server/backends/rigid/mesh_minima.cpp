#include "fem_server/backends/rigid/mesh_minima.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "fem_server/backends/rigid/faceted_body.hpp"

namespace heelstrike::fem {

namespace {

/// Coincident points are computed from different triangles: their distance is a few times the margin.
constexpr double coincidence = 3.0;

bool same_direction(const Vector3& m, const Vector3& n) {
  return m.cross(n).norm() <= cone_rounding && m.dot(n) > 0.0;
}

/// Neighbouring triangles of one plane, by their first one.
std::vector<std::uint32_t> planes_of(const SurfaceMesh& mesh, const std::vector<Vector3>& normals) {
  std::vector<std::uint32_t> first(mesh.triangles.size());
  std::iota(first.begin(), first.end(), 0U);
  const auto root = [&](std::uint32_t t) {
    while (first[t] != t) t = first[t] = first[first[t]];
    return t;
  };
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0; begin < uses.size(); begin = end_of_edge(uses, begin)) {
    if (end_of_edge(uses, begin) - begin != 2) continue;
    const auto one = static_cast<std::uint32_t>(uses[begin].triangle);
    const auto other = static_cast<std::uint32_t>(uses[begin + 1].triangle);
    if (!same_direction(normals[one], normals[other])) continue;
    const std::uint32_t a = root(one), b = root(other);
    first[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t t = 0; t < first.size(); ++t) first[t] = root(t);
  return first;
}

}  // namespace

MeshMinima::MeshMinima(SurfaceMesh mesh) : mesh_(std::move(mesh)), tree_(mesh_) {
  for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) normals_.push_back(triangle_cross(mesh_, t).normalized());
  planes_ = planes_of(mesh_, normals_);
}

Vector3 MeshMinima::closest(std::uint32_t triangle, const Vector3& p) const {
  const Triangle& k = mesh_.triangles[triangle];
  return closest_on_triangle(p, mesh_.vertices[k[0]], mesh_.vertices[k[1]], mesh_.vertices[k[2]]);
}

std::vector<MeshMinima::Candidate> MeshMinima::candidates(const Vector3& c, double reach) const {
  std::vector<Candidate> found;
  const Vector3 half = Vector3::Constant(reach);
  tree_.for_overlapping(c - half, c + half, [&](std::uint32_t t) {
    const Vector3 q = closest(t, c);
    if ((c - q).norm() <= reach) found.push_back({.triangle = t, .point = q});
  });
  std::ranges::sort(found, {}, &Candidate::triangle);
  return found;
}

std::vector<MeshMinima::Minimum> MeshMinima::near(const Vector3& c, double reach, double margin) const {
  const std::vector<Candidate> all = candidates(c, reach);
  const auto n_triangles = static_cast<std::int64_t>(mesh_.triangles.size());
  // The nearest point of a triangle is a local minimum if it is the nearest point of all triangles that contain it.
  const auto minimum_at = [&](const Candidate& own) -> std::optional<Minimum> {
    const Vector3 away = c - own.point;
    Vector3 out = Vector3::Zero();
    std::int64_t first = n_triangles, last = 0;
    for (const Candidate& other : all) {
      if ((closest(other.triangle, own.point) - own.point).norm() > margin) continue;
      if ((other.point - own.point).norm() > coincidence * margin) return std::nullopt;
      out += normals_[other.triangle];
      first = std::min<std::int64_t>(first, planes_[other.triangle]);
      last = std::max<std::int64_t>(last, planes_[other.triangle]);
    }
    if (!(out.dot(away) > 0.0)) return std::nullopt;
    Minimum minimum{.point = own.point, .normal = away.normalized(), .distance = away.norm()};
    minimum.on_face = same_direction(minimum.normal, normals_[own.triangle]);
    // A plane, or after all planes the two outermost at an edge or a corner.
    minimum.feature = minimum.on_face ? planes_[own.triangle] : n_triangles * (1 + first) + last;
    return minimum;
  };
  std::vector<Minimum> minima;
  for (const Candidate& candidate : all) {
    const auto minimum = minimum_at(candidate);
    if (!minimum) continue;
    const auto same = std::ranges::find_if(minima, [&](const Minimum& other) {
      return same_direction(other.normal, minimum->normal) ||
             (other.point - minimum->point).norm() <= coincidence * margin;
    });
    if (same == minima.end()) {
      minima.push_back(*minimum);
    } else if (minimum->distance < same->distance - margin) {
      *same = *minimum;
    }
  }
  std::ranges::sort(minima, {}, &Minimum::feature);
  return minima;
}

bool MeshMinima::is_over(const Minimum& face, const Vector3& p, double margin) const {
  const Vector3 q = p - face.normal.dot(p - face.point) * face.normal;
  const Vector3 half = Vector3::Constant(margin);
  bool found = false;
  tree_.for_overlapping(q - half, q + half, [&](std::uint32_t t) {
    found = found || (planes_[t] == face.feature && (closest(t, q) - q).norm() <= margin);
  });
  return found;
}

}  // namespace heelstrike::fem
