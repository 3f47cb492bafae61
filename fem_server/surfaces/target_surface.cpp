#include "fem_server/surfaces/target_surface.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/surface_kind.hpp"

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
      const double cosine = surface_.face_normal(next).dot(normal);
      if (patch.triangles.size() == max_patch_triangles || patch_of[next] != none || at_rim(next) ||
          cosine < min_coplanar_cosine)
        continue;
      patch_of[next] = seed;
      patch.triangles.push_back(next);
      min_normal_cosine = std::min(min_normal_cosine, cosine);
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
      const double ray_distance = -at_q[0] / through;
      if (!(2.0 * std::abs(ray_distance) < cells_[t].radius)) return std::nullopt;
      return SurfaceCrossing{.ray_distance = ray_distance, .normal = plane.row(0), .triangle = t};
    }
    const std::size_t across = of_c < std::min(of_a, of_b) ? 2 : of_b < of_a ? 1 : 0;
    const std::uint32_t next = cells_[t].neighbours[across];
    if (next == t || next == before) return std::nullopt;  // rim, or oscillation across an edge
    before = t;
    t = next;
  }
  return std::nullopt;
}

namespace {

/// Newton's iteration on the distance along a line converges quadratically from a start at the distance itself.
constexpr int max_newton_iterations = 60;
/// [-] over the edge of the triangles: each triangle is compared with a few hundred others during the preparation.
constexpr double max_sheet_extent = 10.0;
/// Exceeds the error of a few roundings.
constexpr double rounded_down = 1.0 - 1e-9;

/// True for one closed piece without concave edges.
bool is_convex(const TriangleSurface& surface) {
  const SurfaceMesh& mesh = surface.mesh();
  if (!surface.closed() || connected_components(mesh).count != 1) return false;
  const double rounding = 1e-9 * extents_of(mesh.vertices).norm();
  const std::vector<EdgeUse> uses = edge_uses(mesh);
  for (std::size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    end = end_of_edge(uses, begin);
    if (end - begin != 2) return false;
    const Vector3& on_edge = mesh.vertices[uses[begin].edge[0]];
    for (const std::uint32_t v : mesh.triangles[uses[begin + 1].triangle]) {
      if (surface.face_normal(uses[begin].triangle).dot(mesh.vertices[v] - on_edge) > rounding) return false;
    }
  }
  return true;
}

TargetPoint target_point(const SurfacePoint& p) {
  return {.gap = p.gap,
          .normal = p.normal,
          .curvature = p.curvature,
          .smooth_normal = p.normal,
          .smooth_curvature = p.curvature};
}

class AnalyticTarget final : public TargetSurface {
 public:
  explicit AnalyticTarget(std::unique_ptr<SignedDistance> surface) : surface_(std::move(surface)) {}

  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t /*near*/) const override {
    return target_point(surface_->closest(q));
  }

  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t /*near*/) const override {
    const double sense = leaving ? 1.0 : -1.0;
    double ray_distance = 0.0;
    std::optional<Vector3> behind;  // normal of the side from which the line starts away
    for (int i = 0; i < max_newton_iterations; ++i) {
      const SurfacePoint point = surface_->closest(q + ray_distance * direction);
      const double slope = sense * point.normal.dot(direction);
      if (!(slope > 0.0)) {
        // No part of the surface is nearer than the gap.
        if (!leaving || !(point.gap < 0.0) || !surface_->is_distance()) return std::nullopt;
        if (!behind) behind = point.normal;
        ray_distance -= point.gap;
        if (!(ray_distance <= reach)) return std::nullopt;
        continue;
      }
      const double step = -sense * point.gap / slope;
      ray_distance += step;
      if (!(ray_distance <= reach && ray_distance >= -reach)) return std::nullopt;
      if (std::abs(step) > 1e-15 * (q.norm() + std::abs(ray_distance))) continue;
      TargetPoint found = target_point(surface_->closest(q + ray_distance * direction));
      if (behind && !(behind->dot(found.normal) < opposite_sides_cosine)) return std::nullopt;
      found.gap = -sense * ray_distance;
      return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_distance() const override { return surface_->is_distance(); }
  [[nodiscard]] bool closed() const override { return true; }

 private:
  std::unique_ptr<SignedDistance> surface_;
};

/// Closed form of the results that AnalyticTarget finds by iteration.
class PlaneTarget final : public TargetSurface {
 public:
  explicit PlaneTarget(const PlaneSurface& plane) : plane_(plane) {}
  [[nodiscard]] bool convex() const override { return true; }

  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t /*near*/) const override {
    return at({.gap = plane_.normal.dot(q - plane_.point), .normal = plane_.normal}, q);
  }
  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t /*near*/) const override {
    const auto gap = crossing_gap(plane_, q, leaving ? Vector3(-direction) : direction);
    if (!gap || std::abs(*gap) > reach) return std::nullopt;
    return at({.gap = *gap, .normal = plane_.normal}, q);
  }
  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] std::optional<PlaneSurface> plane() const override { return plane_; }
  [[nodiscard]] bool closed() const override { return true; }

 private:
  PlaneSurface plane_;
};

/// A solid cylinder with ends: AnalyticTarget would follow its normals around the rim.
class CylinderTarget final : public TargetSurface {
 public:
  explicit CylinderTarget(const CylinderSurface& cylinder)
      : cylinder_(cylinder), surface_(signed_distance(Surface(cylinder))) {}
  [[nodiscard]] bool convex() const override { return true; }
  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t /*near*/) const override {
    return target_point(surface_->closest(q));
  }

  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t /*near*/) const override {
    const Vector3& axis = cylinder_.axis;
    const Vector3 arm = q - cylinder_.center;
    const double along = arm.dot(axis), rise = direction.dot(axis);
    const Vector3 across = arm - along * axis, lateral = direction - rise * axis;
    // The line is inside between its crossings of the lateral surface and inside between those of the ends.
    const double a = lateral.squaredNorm(), b = across.dot(lateral);
    const double c = across.squaredNorm() - cylinder_.radius * cylinder_.radius;
    const double discriminant = b * b - a * c;
    const double sense = leaving ? 1.0 : -1.0;
    double on_side = sense * std::numeric_limits<double>::infinity(), on_end = on_side;
    if (a > 0.0 ? discriminant < 0.0 : c > 0.0) return std::nullopt;
    if (a > 0.0) on_side = (-b + sense * std::sqrt(discriminant)) / a;
    if (rise != 0.0) on_end = (std::copysign(0.5 * cylinder_.length, sense * rise) - along) / rise;
    const bool is_side = sense * on_side <= sense * on_end;
    const double distance = is_side ? on_side : on_end;
    const Vector3 at = across + distance * lateral;
    const bool hits =
        is_side ? std::abs(along + distance * rise) <= 0.5 * cylinder_.length : at.norm() <= cylinder_.radius;
    if (!hits || std::abs(distance) > reach) return std::nullopt;
    SurfacePoint point{.gap = -sense * distance, .normal = std::copysign(1.0, sense * rise) * axis};
    if (is_side) {
      point.normal = at.normalized();
      point.bend = 1.0 / cylinder_.radius;
      point.curvature =
          point.bend * (Matrix3::Identity() - point.normal * point.normal.transpose() - axis * axis.transpose());
    }
    return target_point(point);
  }

  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] bool closed() const override { return true; }
  [[nodiscard]] bool has_flat_faces() const override { return true; }
  void for_flat_faces(const Vector3& /*low*/, const Vector3& /*high*/,
                      const std::function<void(const std::array<Vector3, 3>&)>& visit) const override {
    // Polygons of the area of the ends.
    const double angle = 2.0 * std::numbers::pi / n_end_corners;
    const double radius = cylinder_.radius * std::sqrt(angle / std::sin(angle));
    const Vector3 x = cylinder_.axis.unitOrthogonal();
    for (const double side : {-1.0, 1.0}) {
      const Vector3 outwards = side * cylinder_.axis;
      const Vector3 centre = cylinder_.center + 0.5 * cylinder_.length * outwards;
      const Vector3 y = outwards.cross(x);
      const auto corner = [&](int k) -> Vector3 {
        return centre + radius * (std::cos(k * angle) * x + std::sin(k * angle) * y);
      };
      for (int k = 0; k < n_end_corners; ++k) visit({centre, corner(k), corner(k + 1)});
    }
  }

 private:
  /// The polygon deviates from the circle by 5e-4 of the radius.
  static constexpr int n_end_corners = 64;
  CylinderSurface cylinder_;
  std::unique_ptr<SignedDistance> surface_;
};

class MeshTarget final : public TargetSurface {
 public:
  MeshTarget(SurfaceMesh mesh, bool interpolate, double depth)
      : surface_(std::move(mesh)), interpolate_(interpolate), convex_(is_convex(surface_)) {
    if (!(depth > 0.0)) return;
    const SurfaceMesh& triangles = surface_.mesh();
    const double edge = std::sqrt(2.0 * surface_area(triangles) / static_cast<double>(triangles.triangles.size()));
    sheets_.emplace(surface_, std::min(2.0 * depth, max_sheet_extent * edge));
  }

  [[nodiscard]] TargetPoint closest(const Vector3& q, std::uint32_t near) const override {
    const NearestOnSurface found = surface_.closest(q, near);
    TargetPoint point{.gap = found.surface.gap,
                      .normal = found.surface.normal,
                      .curvature = found.surface.curvature,
                      .smooth_normal = found.surface.normal,
                      .smooth_curvature = found.surface.curvature,
                      .triangle = found.triangle,
                      .beside = found.beside};
    if (!interpolate_) return point;
    // The foot of the perpendicular moves with the query point along the surface.
    const Vector3& n = found.surface.normal;
    const Matrix3 follows = Matrix3::Identity() - n * n.transpose() - found.surface.gap * found.surface.curvature;
    smooth(q - found.surface.gap * n, point);
    point.smooth_curvature *= follows;
    return point;
  }

  [[nodiscard]] std::optional<TargetPoint> crossing(const Vector3& q, const Vector3& direction, double reach,
                                                    bool leaving, std::uint32_t near) const override {
    const auto found = surface_.crossing(q, direction, reach, leaving, near);
    if (!found) return std::nullopt;
    return at({.gap = leaving ? -found->ray_distance : found->ray_distance,
               .normal = found->normal,
               .triangle = found->triangle},
              q + found->ray_distance * direction);
  }

  [[nodiscard]] bool local_crossing(const Vector3& q, const Vector3& away, std::uint32_t near,
                                    LocalCrossing& found) const override {
    if (!sheets_) return false;
    const auto crossing = sheets_->leaving(q, -away, near);
    if (!crossing) return false;
    found = {.gap = -crossing->ray_distance, .normal = crossing->normal, .triangle = crossing->triangle};
    if (!(found.gap > 0.0)) return true;
    // Relative to the normal of the crossed triangle, the sheet rises by less than 45 degrees everywhere: below q it is
    // at most gap sin(angle) above the crossing, while q is gap cos(angle) above it.
    const double cosine = std::min(1.0, -found.normal.dot(away));
    const double below = found.gap * (cosine - std::sqrt(1.0 - cosine * cosine));
    found.clear = std::max(0.0, rounded_down * below / std::numbers::sqrt2);
    return true;
  }
  [[nodiscard]] TargetPoint at(const LocalCrossing& crossing, const Vector3& p) const override {
    TargetPoint point = TargetSurface::at(crossing, p);
    if (interpolate_) smooth(p, point);
    return point;
  }

  [[nodiscard]] bool is_distance() const override { return true; }
  [[nodiscard]] bool closed() const override { return surface_.closed(); }
  [[nodiscard]] bool convex() const override { return convex_; }
  [[nodiscard]] bool has_flat_faces() const override { return true; }
  void for_flat_faces(const Vector3& low, const Vector3& high,
                      const std::function<void(const std::array<Vector3, 3>&)>& visit) const override {
    surface_.for_overlapping(low, high, [&](std::uint32_t t) {
      const auto& [a, b, c] = surface_.mesh().triangles[t];
      const std::vector<Vector3>& p = surface_.mesh().vertices;
      visit({p[a], p[b], p[c]});
    });
  }
  [[nodiscard]] std::optional<std::array<Vector3, 2>> box() const override {
    const std::vector<Vector3>& vertices = surface_.mesh().vertices;
    std::array<Vector3, 2> corners{vertices.front(), vertices.front()};
    for (const Vector3& p : vertices) corners = {corners[0].cwiseMin(p), corners[1].cwiseMax(p)};
    return corners;
  }

 private:
  void smooth(const Vector3& p, TargetPoint& point) const {
    const InterpolatedNormal interpolated = surface_.interpolated_normal(point.triangle, p);
    point.smooth_normal = interpolated.normal;
    point.smooth_curvature = interpolated.gradient;
  }

  TriangleSurface surface_;
  bool interpolate_;
  bool convex_;
  std::optional<SurfaceSheets> sheets_;
};

}  // namespace

std::unique_ptr<TargetSurface> analytic_target(std::unique_ptr<SignedDistance> surface) {
  return std::make_unique<AnalyticTarget>(std::move(surface));
}

std::unique_ptr<TargetSurface> cylinder_target(const CylinderSurface& cylinder) {
  return std::make_unique<CylinderTarget>(cylinder);
}

std::unique_ptr<TargetSurface> plane_target(const PlaneSurface& plane) {
  return std::make_unique<PlaneTarget>(plane);
}

std::unique_ptr<TargetSurface> mesh_target(SurfaceMesh mesh, bool interpolate, double depth) {
  return std::make_unique<MeshTarget>(std::move(mesh), interpolate, depth);
}

}  // namespace heelstrike::fem
