#include "fem_server/backends/elastic_foundation/casting_surface.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <utility>

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/spring_kinematics.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"

namespace heelstrike::fem {

namespace {

constexpr double max_force_change = 0.02;

/// Numbered things, grouped by joining pairs of them.
class Groups {
 public:
  explicit Groups(std::size_t count) : first_(count) { std::iota(first_.begin(), first_.end(), 0U); }
  [[nodiscard]] std::uint32_t of(std::uint32_t one) {
    while (first_[one] != one) one = first_[one] = first_[first_[one]];
    return one;
  }
  /// A group has the number of its first member.
  void join(std::uint32_t a, std::uint32_t b) {
    a = of(a);
    b = of(b);
    first_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> first_;
};

std::uint32_t corner_at(const SurfaceMesh& mesh, std::uint32_t triangle, std::uint32_t vertex) {
  const Triangle& corners = mesh.triangles[triangle];
  return 3 * triangle + static_cast<std::uint32_t>(std::ranges::find(corners, vertex) - corners.begin());
}

/// Consistently oriented edge of two triangles.
struct Fold {
  std::array<std::uint32_t, 2> edge, triangles;
  double angle;  ///< [rad] between their normals
  Vector3 axis;
};

std::vector<Fold> folds_of(const SurfaceMesh& mesh, const std::vector<Vector3>& faces) {
  std::vector<Fold> folds;
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    end = end_of_edge(uses, begin);
    const EdgeUse& one = uses[begin];
    const EdgeUse& other = uses[end - 1];
    if (end - begin != 2 || one.forward == other.forward) continue;
    const double cosine = faces[one.triangle].dot(faces[other.triangle]);
    folds.push_back({.edge = one.edge,
                     .triangles = {one.triangle, other.triangle},
                     .angle = std::acos(std::clamp(cosine, -1.0, 1.0)),
                     .axis = (mesh.vertices[one.edge[1]] - mesh.vertices[one.edge[0]]).normalized()});
  }
  return folds;
}

/// Folds that bound flat faces, instead of being a step of a curved surface.
class FaceEdges {
 public:
  /// @param max_angle  [rad] of steps of curved surfaces
  FaceEdges(std::span<const Fold> folds, std::size_t n_triangles, double max_angle) : faces_(n_triangles) {
    for (const Fold& fold : folds) {
      if (fold.angle < flat) faces_.join(fold.triangles[0], fold.triangles[1]);
    }
    for (const Fold& fold : folds) {
      if (fold.angle < flat || fold.angle > max_angle) continue;
      for (const std::uint32_t t : fold.triangles) around_[faces_.of(t)].push_back(&fold);
    }
  }
  /// True if one of both faces does not continue to bend about the axis of the fold: over a curved surface of regular
  /// triangles the sum below is half the angle, over strips it is the angle.
  [[nodiscard]] bool contain(const Fold& fold) {
    if (fold.angle < steep_face) return false;
    const std::array<std::uint32_t, 2> both{faces_.of(fold.triangles[0]), faces_.of(fold.triangles[1])};
    return std::ranges::any_of(both, [&](std::uint32_t face) {
      double bend = 0.0;
      for (const Fold* other : around_[face]) {
        const std::array<std::uint32_t, 2> of_other{faces_.of(other->triangles[0]), faces_.of(other->triangles[1])};
        const bool same = std::ranges::is_permutation(of_other, both);
        const double cosine = fold.axis.dot(other->axis);
        if (!same) bend += cosine * cosine * other->angle;
      }
      return bend < 0.25 * fold.angle;
    });
  }

 private:
  /// [rad] Smallest inclination to a wall perpendicular to T at which rays of a face are not shortened. A smaller fold
  /// beside that wall has no effect, a larger one would change the length of the face's rays by up to a half.
  static inline const double steep_face = std::asin(1.0 / max_ray_ratio);
  /// [rad] Rounding of coordinates in files, and triangulations of nearly flat faces.
  static inline const double flat = steep_face / 8.0;
  Groups faces_;
  std::map<std::uint32_t, std::vector<const Fold*>> around_;
};

/// Joins corners over smooth edges: at an angle of at most twice the limit of min_smooth_cosine, and not between faces.
Groups smooth_corners(const SurfaceMesh& mesh, const std::vector<Vector3>& faces, double min_smooth_cosine) {
  Groups parts(3 * mesh.triangles.size());
  const double max_angle = 2.0 * std::acos(min_smooth_cosine);
  const std::vector<Fold> folds = folds_of(mesh, faces);
  FaceEdges face_edges(folds, mesh.triangles.size(), max_angle);
  for (const Fold& fold : folds) {
    if (fold.angle > max_angle || face_edges.contain(fold)) continue;
    const auto& [one, other] = fold.triangles;
    for (const std::uint32_t vertex : fold.edge)
      parts.join(corner_at(mesh, one, vertex), corner_at(mesh, other, vertex));
  }
  return parts;
}

/// Angle [rad] of a triangle at one of its corners.
double angle_at(const SurfaceMesh& mesh, const Triangle& corners, std::size_t k) {
  const Vector3& p = mesh.vertices[corners[k]];
  const Vector3 a = (mesh.vertices[corners[(k + 1) % 3]] - p).normalized();
  const Vector3 b = (mesh.vertices[corners[(k + 2) % 3]] - p).normalized();
  return std::acos(std::clamp(a.dot(b), -1.0, 1.0));
}

}  // namespace

double min_smooth_cosine() {
  return 1.0 / std::sqrt(1.0 + max_force_change);
}

SmoothParts split_at_creases(SurfaceMesh& mesh, double min_smooth_cosine) {
  const std::size_t n_corners = 3 * mesh.triangles.size();
  std::vector<Vector3> faces;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) faces.push_back(triangle_cross(mesh, t).normalized());
  Groups parts = smooth_corners(mesh, faces, min_smooth_cosine);
  std::vector<Vector3> of_part(n_corners, Vector3::Zero());
  for (std::uint32_t c = 0; c < n_corners; ++c) {
    of_part[parts.of(c)] += angle_at(mesh, mesh.triangles[c / 3], c % 3) * faces[c / 3];
  }
  SmoothParts result;
  result.normals.assign(mesh.vertices.size(), Vector3::Zero());
  constexpr std::uint32_t none = ~0U;
  std::vector<std::uint32_t> vertex_of(n_corners, none);  // of each part
  std::vector<bool> taken(mesh.vertices.size(), false);
  for (std::uint32_t c = 0; c < n_corners; ++c) {
    const std::uint32_t part = parts.of(c);
    std::uint32_t& vertex = mesh.triangles[c / 3][c % 3];
    const Vector3 mean = of_part[part].normalized();
    // At the tip of a cone no edge need be a crease, but the mean normal represents none of its triangles.
    const bool is_crease = mean.dot(faces[c / 3]) < min_smooth_cosine;
    std::uint32_t own = is_crease ? none : vertex_of[part];
    if (own == none) {
      own = vertex;
      if (taken[vertex]) {
        own = static_cast<std::uint32_t>(mesh.vertices.size());
        mesh.vertices.push_back(Vector3(mesh.vertices[vertex]));
        result.normals.emplace_back();
        result.origin.push_back(vertex);
      }
      taken[vertex] = true;
      result.normals[own] = is_crease ? faces[c / 3] : mean;
      if (!is_crease) vertex_of[part] = own;
    }
    vertex = own;
  }
  return result;
}

namespace {

/// [-] of the layers' thickness: shapes are resolved by default for contacts down to this depth.
constexpr double min_depth = 1e-3;
constexpr double max_linear_error = 0.3;
/// There are about 1.5 times as many springs; fields of a frame take a few MB.
constexpr std::size_t max_triangles = 20000;
/// [-] Square of the edge of an equilateral triangle over its area.
const double equilateral = 4.0 / std::numbers::sqrt3;

/// [-] Relative error of the force for a gap with this curvature: depths that are linear over triangles are too low by
/// e^2 / (6 R) on average and lose e^2 / (3 R d). Those of the planes of four points lose at most the square of it.
double linear_fraction(double edge, double curvature, double depth) {
  return edge * edge * curvature / (3.0 * depth);
}

}  // namespace

double mean_edge(const SurfaceMesh& mesh) {
  return std::sqrt(equilateral * surface_area(mesh) / static_cast<double>(mesh.triangles.size()));
}

double min_edge_length_of_mesh(const SurfaceMesh& mesh) {
  std::vector<double> areas;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) areas.push_back(0.5 * triangle_cross(mesh, t).norm());
  const auto tenth = areas.begin() + static_cast<std::ptrdiff_t>(areas.size() / 10);
  std::ranges::nth_element(areas, tenth);
  return std::sqrt(equilateral * *tenth);
}

int refine_to_curvature(const ResolvedContact& seen, SurfaceMesh& mesh, std::vector<double>& of_vertices,
                        const SignedDistance& shape) {
  const auto too_coarse = [&] {
    return linear_fraction(mean_edge(mesh), seen.min_curvature, min_depth * seen.layers) > max_linear_error;
  };
  int levels = 0;
  for (; too_coarse() && 4 * mesh.triangles.size() <= max_triangles; ++levels) refine(mesh, of_vertices, 1, &shape);
  return levels;
}

std::optional<std::string> describe_resolution_error(const ResolvedContact& seen, double edge) {
  // No spring lies between the middle of an edge and the centres of the adjacent triangles.
  const double hole = edge / (2.0 * std::numbers::sqrt3);
  const double hidden = 0.5 * hole * hole * seen.curvature;
  if (hidden > seen.layers || hole * seen.min_curvature > 1.0) {
    const double curvature = std::max(seen.curvature, seen.min_curvature);
    throw input_error(
        seen.key,
        fmt::format(
            "{}: expected springs that resolve the partner, found triangles of the casting surface with edges of "
            "{:.3g} m: a partner {:.3g} m in radius penetrates {:.3g} m between their springs before one of them "
            "is in contact, more than the layers' thickness of {:.3g} m; divide the triangles with refine, use a finer "
            "mesh, or let the other body carry the springs with spring_body",
            seen.key, edge, 1.0 / curvature, 0.5 * hole * hole * curvature, seen.layers));
  }
  const double depth = min_resolved_penetration * seen.layers;
  const auto percent = [&](double at) {
    const double share = linear_fraction(edge, seen.curvature, at);
    return 100.0 * std::min(1.0, share * share);
  };
  if (percent(depth) <= 10.0) {
    // Within half the edge around the deepest point there may be no spring.
    const double unseen = 0.125 * edge * edge * seen.curvature;
    if (!(unseen > 0.0)) return std::nullopt;
    return fmt::format(
        "{}{}: springs on triangles with edges of {:.3g} m resolve contact deeper than {:.2g} m ({:.2g} % "
        "of the layers); the force of less depth may be zero, or many times too large",
        note_mark, seen.key, edge, unseen, 100.0 * unseen / seen.layers);
  }
  return fmt::format(
      "{}{}: triangles of the casting surface have edges of {:.3g} m, which is long for contact "
      "with a relative radius of {:.3g} m: the force may be wrong by up to {:.2g} % at a depth of "
      "{:.3g} m, and {:.2g} % at {:.3g} m; divide them with refine, or use a finer mesh",
      warning_mark, seen.key, edge, 1.0 / seen.curvature, percent(depth), depth, percent(10.0 * depth), 10.0 * depth);
}

namespace {

/// A query for a group costs about as much as one spring; smaller leaves cause more queries.
constexpr std::size_t springs_of_leaf = 6;
/// [-] of the distance to the centres of its triangles: a spring on a crease lies inside its face. On an edge that
/// coincides with one of the partner, as of two equal boxes, its side would be a matter of rounding.
constexpr double inside_of_crease = 1e-12;

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
  place_springs(options, thickness, smooth);
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

/// The vertices, those on creases moved into their smooth part (inside_of_crease).
std::vector<Vector3> CastingSurface::points_inside_creases(const SmoothParts& smooth) const {
  std::vector<bool> on_crease(mesh_.vertices.size(), false);
  std::fill(on_crease.end() - std::ssize(smooth.origin), on_crease.end(), true);
  for (const std::uint32_t v : smooth.origin) on_crease[v] = true;
  std::vector<Vector3> points = mesh_.vertices;
  for (std::uint32_t v = 0; v < points.size(); ++v) {
    if (!on_crease[v]) continue;
    const std::span<const std::uint32_t> triangles = triangles_of(v);
    for (const std::uint32_t t : triangles) {
      const auto& [a, b, c] = mesh_.triangles[t];
      const Vector3 centre = (mesh_.vertices[a] + mesh_.vertices[b] + mesh_.vertices[c]) / 3.0;
      points[v] += inside_of_crease / static_cast<double>(triangles.size()) * (centre - mesh_.vertices[v]);
    }
  }
  return points;
}

void CastingSurface::place_springs(const CastingOptions& options, std::span<const double> thickness,
                                   const SmoothParts& smooth) {
  const std::vector<Vector3>& normals = smooth.normals;
  const auto place = [&](const Vector3& point, const Vector3& normal, double local_thickness) {
    Spring spring{.point = point, .normal = normal, .thickness = local_thickness};
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
    const std::vector<Vector3> points = points_inside_creases(smooth);
    for (std::uint32_t v = 0; v < points.size(); ++v) place(points[v], normals[v], thickness[v]);
  }
  for (std::uint32_t t = 0; t < mesh_.triangles.size(); ++t) {
    const auto& [a, b, c] = mesh_.triangles[t];
    const Vector3 normal =
        options.interpolate_normals ? Vector3(normals[a] + normals[b] + normals[c]) : triangle_cross(mesh_, t);
    place((mesh_.vertices[a] + mesh_.vertices[b] + mesh_.vertices[c]) / 3.0, normal.normalized(), thickness_[t]);
  }
}

std::vector<double> body_depths(const SurfaceMesh& mesh, double reach) {
  const TriangleSurface surface(mesh);
  std::vector<double> depths;
  for (std::uint32_t t = 0; t < mesh.triangles.size(); ++t) {
    const auto& [a, b, c] = mesh.triangles[t];
    const Vector3 centre = (mesh.vertices[a] + mesh.vertices[b] + mesh.vertices[c]) / 3.0;
    const auto opposite = surface.crossing(centre, -surface.face_normal(t), reach, true, t);
    depths.push_back(opposite ? opposite->ray_distance : std::numeric_limits<double>::infinity());
  }
  return depths;
}

void CastingSurface::measure_body_depth(double reach) {
  const std::vector<double> depths = body_depths(mesh_, reach);
  for (std::uint32_t s = 0; s < springs_.size(); ++s) {
    const auto triangles = places_ == SpringPlaces::centres ? std::span(&s, 1) : triangles_of(s);
    double deepest = 0.0;
    for (const std::uint32_t t : triangles) deepest = std::max(deepest, depths[t]);
    springs_[s].body_depth = deepest;
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

namespace {

/// Directions [-] out of sharp convex edges, by their sorted vertices.
std::map<std::array<std::uint32_t, 2>, Vector3> sharp_edges(const SurfaceMesh& mesh) {
  // [rad] Far above the angles of triangles that approximate a curve.
  constexpr double sharp = std::numbers::pi / 4.0;
  std::vector<Vector3> faces;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) faces.push_back(triangle_cross(mesh, t).normalized());
  std::map<std::array<std::uint32_t, 2>, Vector3> edges;
  for (const Fold& fold : folds_of(mesh, faces)) {
    if (fold.angle < sharp) continue;
    const auto& [one, other] = fold.triangles;
    const Triangle& corners = mesh.triangles[other];
    const Vector3 centre = (mesh.vertices[corners[0]] + mesh.vertices[corners[1]] + mesh.vertices[corners[2]]) / 3.0;
    if (faces[one].dot(centre - mesh.vertices[fold.edge[0]]) >= 0.0) continue;
    edges.emplace(fold.edge, (faces[one] + faces[other]).normalized());
  }
  return edges;
}

}  // namespace

SurfaceMesh sharp_faces(const SurfaceMesh& mesh) {
  SurfaceMesh faces;
  const auto edges = sharp_edges(mesh);
  for (const Triangle& corners : mesh.triangles) {
    const bool is_sharp = std::ranges::any_of(std::array{0, 1, 2}, [&](std::size_t k) {
      const std::uint32_t a = corners[k], b = corners[(k + 1) % 3];
      return edges.contains({std::min(a, b), std::max(a, b)});
    });
    if (is_sharp) faces.triangles.push_back(corners);
  }
  if (!faces.triangles.empty()) faces.vertices = mesh.vertices;
  return faces;
}

namespace {

Vector3 foot_on(const SignedDistance& shape, const Vector3& p) {
  const SurfacePoint nearest = shape.closest(p);
  return p - nearest.gap * nearest.normal;
}

}  // namespace

void refine(SurfaceMesh& mesh, std::vector<double>& of_vertices, int levels, const SignedDistance* shape) {
  for (int level = 0; level < levels; ++level) {
    std::map<std::array<std::uint32_t, 2>, std::uint32_t> middles;
    const auto sharp = shape != nullptr ? sharp_edges(mesh) : std::map<std::array<std::uint32_t, 2>, Vector3>();
    const auto middle = [&](std::uint32_t a, std::uint32_t b) {
      const std::array edge{std::min(a, b), std::max(a, b)};
      const auto [found, is_new] = middles.try_emplace(edge, mesh.vertices.size());
      if (is_new) {
        Vector3 between = 0.5 * (mesh.vertices[a] + mesh.vertices[b]);
        if (shape != nullptr) between = foot_on(*shape, between);
        // The chord of a rim lies on one of its faces: from outside of both, the nearest point is on the rim.
        if (const auto rim = sharp.find(edge); rim != sharp.end()) {
          const double length = (mesh.vertices[a] - mesh.vertices[b]).norm();
          between = foot_on(*shape, between + length * rim->second);
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
    const double h = below                       ? below->ray_distance
                     : nearest.surface.gap < 0.0 ? -nearest.surface.gap
                                                 : nearest.surface.gap;
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
