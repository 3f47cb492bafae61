#include "fem_server/backends/rigid/rigid_geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "common/spatial/extents.hpp"
#include "common/surfaces/block.hpp"
#include "common/surfaces/plane.hpp"
#include "common/surfaces/points.hpp"
#include "common/surfaces/sphere.hpp"
#include "common/surfaces/surface_kind.hpp"
#include "fem_server/backends/elastic_foundation/foundation_surfaces.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"

namespace heelstrike::fem {

namespace {

std::vector<Probe> corners(const std::vector<Vector3>& points) {
  std::vector<Probe> probes;
  for (const Vector3& p : points) probes.push_back({.center = p});
  return probes;
}

std::vector<Probe> block_corners(const BlockSurface& block) {
  std::vector<Probe> probes;
  for (int corner = 0; corner < 8; ++corner) {
    const Vector3 sign((corner & 1) != 0 ? 0.5 : -0.5, (corner & 2) != 0 ? 0.5 : -0.5, (corner & 4) != 0 ? 0.5 : -0.5);
    probes.push_back({.center = block.center + sign.cwiseProduct(block.lengths)});
  }
  return probes;
}

/// None for a plane, which every other body meets with probes of its own, and for a socket.
std::vector<Probe> probes_of(const Surface& surface, const PrepareContext& context, const std::string& where) {
  if (PlaneSurface::of(surface)) return {};
  if (const auto sphere = SphereSurface::of(surface)) {
    if (sphere->radius < 0.0) return {};
    return {{.center = sphere->center, .radius = sphere->radius}};
  }
  if (const auto block = BlockSurface::of(surface)) return block_corners(*block);
  if (const auto cloud = PointCloudSurface::of(surface)) return corners(cloud->points);
  return corners(cast_triangles(surface, {}, context, where).mesh.vertices);
}

std::unique_ptr<SignedDistance> surface_of(const Surface& surface, const PrepareContext& context,
                                           const std::string& where) {
  if (kind_of(surface).distance != nullptr) return signed_distance(surface);
  if (kind_of(surface).is_cloud) return nullptr;
  TriangleSize size;
  // Its sides are flat: two triangles each say all.
  if (const auto block = BlockSurface::of(surface)) size.edge = block->lengths.maxCoeff();
  return mesh_distance(cast_triangles(surface, size, context, where).mesh);
}

bool is_ball(const std::vector<Probe>& probes) {
  return probes.size() == 1 && probes.front().radius > 0.0;
}

/// Bodies with triangles or corners, whose edges may bear.
std::vector<SharpEdge> edges_of(const Surface& surface, const PrepareContext& context, const std::string& where) {
  if (const auto block = BlockSurface::of(surface)) return sharp_edges(*block);
  // Shapes with a distance by formula are smooth, or endless.
  if (kind_of(surface).distance != nullptr || kind_of(surface).is_cloud) return {};
  return sharp_edges(cast_triangles(surface, {}, context, where).mesh);
}

double largest_edge(const std::vector<Probe>& probes) {
  if (probes.empty()) return std::numeric_limits<double>::infinity();
  std::vector<Vector3> centers;
  for (const Probe& probe : probes) centers.push_back(probe.center);
  return extents_of(centers).maxCoeff() + 2.0 * probes.front().radius;
}

}  // namespace

RigidGeometry::RigidGeometry(const PairSpec& pair, const PrepareContext& context) {
  const std::string where = "contact." + pair.name;
  A_.probes = probes_of(pair.main.surface, context, where + ".main.surface");
  B_.probes = probes_of(pair.partner.surface, context, where + ".partner.surface");
  size_ = std::min(largest_edge(A_.probes), largest_edge(B_.probes));
  // One ball finds the nearest point of any surface: what the other body has as corners lies on that surface too.
  probes_of_B_ = is_ball(B_.probes) || (!B_.probes.empty() && !is_ball(A_.probes));
  probes_of_A_ = !A_.probes.empty() && !is_ball(B_.probes);
  if (probes_of_B_) A_.surface = surface_of(pair.main.surface, context, where + ".main.surface");
  if (probes_of_A_) B_.surface = surface_of(pair.partner.surface, context, where + ".partner.surface");
  if (probes_of_B_ && !A_.surface) probes_of_B_ = false;
  if (probes_of_A_ && !B_.surface) probes_of_A_ = false;
  for (Side* side : {&A_, &B_}) {
    if (side->probes.empty()) continue;
    std::vector<std::size_t> all(side->probes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    make_clusters(side->probes, std::move(all), side->clusters);
  }
  if (probes_of_A_ && probes_of_B_) take_edges(pair, context);
  if (probes_of_A_ || probes_of_B_) return;
  throw input_error(where, fmt::format("{}: expected two bodies of which at least one has corners, vertices or points "
                                       "and the other a surface, found {} on {}; give a mesh for one of them",
                                       where, pair.main.surface.kind, pair.partner.surface.kind));
}

void RigidGeometry::take_edges(const PairSpec& pair, const PrepareContext& context) {
  const std::string where = "contact." + pair.name;
  A_.edges = edges_of(pair.main.surface, context, where + ".main.surface");
  B_.edges = edges_of(pair.partner.surface, context, where + ".partner.surface");
  if (A_.edges.empty() || B_.edges.empty()) {
    A_.edges.clear();
    B_.edges.clear();
    return;
  }
  for (Side* side : {&A_, &B_}) {
    for (const auto& [a, b, normals] : side->edges) {
      side->edge_balls.push_back({.center = 0.5 * (a + b), .radius = 0.5 * (b - a).norm()});
    }
    std::vector<std::size_t> all(side->edges.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    make_clusters(side->edge_balls, std::move(all), side->edge_clusters);
  }
}

/// Halves the probes across their longest extent until few are left.
void RigidGeometry::make_clusters(const std::vector<Probe>& probes, std::vector<std::size_t> members,
                                  std::vector<Cluster>& clusters) {
  constexpr std::size_t few = 4;
  Vector3 low = probes[members.front()].center, high = low;
  for (const std::size_t i : members) {
    low = low.cwiseMin(probes[i].center);
    high = high.cwiseMax(probes[i].center);
  }
  Cluster cluster{.center = 0.5 * (low + high)};
  for (const std::size_t i : members) {
    cluster.radius = std::max(cluster.radius, (probes[i].center - cluster.center).norm() + probes[i].radius);
  }
  const std::size_t own = clusters.size();
  clusters.push_back(std::move(cluster));
  if (members.size() <= few) {
    clusters[own].probes = std::move(members);
    clusters[own].next = clusters.size();
    return;
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  const auto middle = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
  std::ranges::stable_sort(members, {}, [&](std::size_t i) { return probes[i].center[axis]; });
  make_clusters(probes, {members.begin(), middle}, clusters);
  make_clusters(probes, {middle, members.end()}, clusters);
  clusters[own].next = clusters.size();
}

/// Always the half that may come nearer, down to a few probes.
double RigidGeometry::bound_on_gap(const Side& from, const Side& to, const Pose& X_to_from) {
  const auto gap = [&](const Vector3& center, double radius) {
    return to.surface->closest(X_to_from * center).gap - radius;
  };
  const auto& clusters = from.clusters;
  std::size_t i = 0;
  while (clusters[i].probes.empty()) {
    const std::size_t left = i + 1;
    const std::size_t right = clusters[left].next;
    const bool is_left =
        gap(clusters[left].center, clusters[left].radius) <= gap(clusters[right].center, clusters[right].radius);
    i = is_left ? left : right;
  }
  double bound = std::numeric_limits<double>::infinity();
  for (const std::size_t k : clusters[i].probes)
    bound = std::min(bound, gap(from.probes[k].center, from.probes[k].radius));
  return bound;
}

void RigidGeometry::look_at(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from, double least,
                            double reach, std::vector<ContactPoint>& found, ContactPoint& nearest) {
  const auto& [center, radius] = from.probes[probe];
  const Vector3 c = X_to_from * center;
  if (to.surface->gap(c, least + radius) > least + radius) return;
  const SurfacePoint at = to.surface->closest(c);
  const double gap = at.gap - radius;
  ContactPoint point{.feature = static_cast<std::int64_t>(probe),
                     .p_AC = c - (radius + 0.5 * gap) * at.normal,
                     .n_A = at.normal,
                     .gap = gap};
  // A level surface at distance d has the curvature k / (1 + k d).
  const double level = 1.0 - at.bend * at.gap;
  point.curvature_A = level != 0.0 ? at.bend / level : 0.0;
  point.curvature_B = radius > 0.0 ? 1.0 / radius : 0.0;
  if (gap < nearest.gap) nearest = point;
  if (gap <= reach) found.push_back(point);
}

/// Probes of one side against the surface of the other, told in the frame of that other side with normals out of it.
void RigidGeometry::collect(const Side& from, const Side& to, const Pose& X_to_from, double reach,
                            std::vector<ContactPoint>& found, ContactPoint& nearest) {
  const double bound = bound_on_gap(from, to, X_to_from);
  for (std::size_t i = 0; i < from.clusters.size();) {
    const Cluster& cluster = from.clusters[i];
    const double least = std::max(reach, std::min(bound, nearest.gap));
    const double far = least + cluster.radius;
    // A single probe is asked at once. Where the ball around the cluster is farther than what is looked for, all of it
    // is: a distance changes by no more than the way.
    if (cluster.probes.size() != 1 && to.surface->gap(X_to_from * cluster.center, far) > far) {
      i = cluster.next;
      continue;
    }
    for (const std::size_t probe : cluster.probes) look_at(from, probe, to, X_to_from, least, reach, found, nearest);
    ++i;
  }
  std::ranges::sort(found, {}, &ContactPoint::feature);
}

bool RigidGeometry::collect_near(const Side& from, std::span<const NearProbes::Entry> near, double margin, double moved,
                                 const Side& to, const Pose& X_to_from, double reach, std::vector<ContactPoint>& found,
                                 ContactPoint& nearest) {
  if (reach + moved > margin) return false;
  const ContactPoint none = nearest;
  for (const auto& [probe, gap] : near) {
    const double least = std::max(reach, nearest.gap);
    if (gap - moved <= least) look_at(from, probe, to, X_to_from, least, reach, found, nearest);
  }
  if (std::max(reach, nearest.gap) + moved > margin) {
    found.clear();
    nearest = none;
    return false;
  }
  std::ranges::sort(found, {}, &ContactPoint::feature);
  return true;
}

std::vector<NearProbes::Entry> RigidGeometry::near_probes_of(const Side& from, const Side& to, const Pose& X_to_from,
                                                             double margin) {
  std::vector<NearProbes::Entry> near;
  for (std::size_t i = 0; i < from.clusters.size();) {
    const Cluster& cluster = from.clusters[i];
    const double far = margin + cluster.radius;
    if (to.surface->gap(X_to_from * cluster.center, far) > far) {
      i = cluster.next;
      continue;
    }
    for (const std::size_t probe : cluster.probes) {
      const auto& [center, radius] = from.probes[probe];
      const double gap = to.surface->gap(X_to_from * center, margin + radius) - radius;
      if (gap <= margin) near.push_back({.probe = probe, .gap = gap});
    }
    ++i;
  }
  return near;
}

NearProbes RigidGeometry::near_probes(const Pose& X_AB, double margin) const {
  NearProbes near{.X_AB = X_AB, .margin = margin};
  if (probes_of_B_) near.of_B = near_probes_of(B_, A_, X_AB, margin);
  if (probes_of_A_) near.of_A = near_probes_of(A_, B_, X_AB.inverse(), margin);
  return near;
}

double RigidGeometry::way(const Pose& X_AB, const Pose& Y_AB) const {
  const auto farthest = [](const Side& side, const Pose& X, const Pose& Y) {
    // Everything lies in the ball around the first cluster: its middle moves, and it turns about it by an angle whose
    // chord on the unit sphere is at most |R - R'| (Frobenius) / sqrt(2).
    const Cluster& all = side.clusters.front();
    const double chord = (X.R - Y.R).norm() / std::sqrt(2.0);
    return (X * all.center - Y * all.center).norm() + chord * all.radius;
  };
  double way = 0.0;
  if (probes_of_B_) way = farthest(B_, X_AB, Y_AB);
  if (probes_of_A_) way = std::max(way, farthest(A_, X_AB.inverse(), Y_AB.inverse()));
  // Gaps are rounded as coordinates are, some units in the last place of the size.
  return way + 1e-12 * size_;
}

std::vector<std::size_t> RigidGeometry::edges_near(const Side& from, const Side& to, const Pose& X_to_from,
                                                   double reach) {
  std::vector<std::size_t> near;
  const auto far = [&](const Vector3& center, double radius) {
    const double least = reach + radius;
    return to.surface->gap(X_to_from * center, least) > least;
  };
  for (std::size_t i = 0; i < from.edge_clusters.size();) {
    const Cluster& cluster = from.edge_clusters[i];
    if (far(cluster.center, cluster.radius)) {
      i = cluster.next;
      continue;
    }
    for (const std::size_t edge : cluster.probes) {
      if (!far(from.edge_balls[edge].center, from.edge_balls[edge].radius)) near.push_back(edge);
    }
    ++i;
  }
  std::ranges::sort(near);
  return near;
}

/// A crossing counts where both bodies are, around it, the wedges between the faces of these edges: of a body whose
/// other side is nearer the distance says otherwise.
void RigidGeometry::collect_crossings(const Pose& X_AB, double reach, std::vector<ContactPoint>& found,
                                      ContactPoint& nearest) const {
  if (A_.edges.empty()) return;
  const Pose X_BA = X_AB.inverse();
  const double least = found.empty() ? std::max(reach, nearest.gap) : reach;
  const std::vector<std::size_t> near_A = edges_near(A_, B_, X_BA, least);
  const std::vector<std::size_t> near_B = edges_near(B_, A_, X_AB, least);
  constexpr double share = 2e-3;     // twice what the normal may lie outside of a cone
  constexpr double rounding = 1e-9;  // of distances, over the size
  const auto is = [&](double gap, double expected) {
    return std::abs(gap - expected) <= share * std::abs(expected) + rounding * size_;
  };
  for (const std::size_t b : near_B) {
    const SharpEdge edge = B_.edges[b].moved(X_AB);
    for (const std::size_t a : near_A) {
      const auto met = crossing(A_.edges[a], edge);
      if (!met || met->gap > std::max(reach, nearest.gap)) continue;
      if (!is(A_.surface->closest(met->p_B).gap, met->gap_A)) continue;
      if (!is(B_.surface->closest(X_BA * met->p_A).gap, met->gap_B)) continue;
      // Features of edges come after those of all probes.
      const std::size_t feature = B_.probes.size() + b * A_.edges.size() + a;
      const ContactPoint point{.feature = static_cast<std::int64_t>(feature),
                               .p_AC = 0.5 * (met->p_A + met->p_B),
                               .n_A = met->n,
                               .gap = met->gap};
      if (met->gap < nearest.gap) nearest = point;
      if (met->gap <= reach) found.push_back(point);
    }
  }
}

std::vector<ContactPoint> RigidGeometry::points(const Pose& X_AB, double reach, const NearProbes* near) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<ContactPoint> of_B, of_A;
  ContactPoint nearest{.gap = none};
  const double margin = near != nullptr ? near->margin : 0.0;
  const double moved = near != nullptr ? way(near->X_AB, X_AB) : none;
  if (probes_of_B_ &&
      (near == nullptr || !collect_near(B_, near->of_B, margin, moved, A_, X_AB, reach, of_B, nearest))) {
    collect(B_, A_, X_AB, reach, of_B, nearest);
  }
  if (probes_of_A_) {
    const Pose X_BA = X_AB.inverse();
    ContactPoint nearest_of_A{.gap = none};
    if (near == nullptr || !collect_near(A_, near->of_A, margin, moved, B_, X_BA, reach, of_A, nearest_of_A)) {
      collect(A_, B_, X_BA, reach, of_A, nearest_of_A);
    }
    const auto turned = [&](ContactPoint point) {
      // Features of A's own probes are told apart by their sign.
      point.feature = -1 - point.feature;
      point.p_AC = X_AB * point.p_AC;
      point.n_A = -(X_AB.R * point.n_A);
      std::swap(point.curvature_A, point.curvature_B);
      return point;
    };
    for (const ContactPoint& point : of_A) of_B.push_back(turned(point));
    if (nearest_of_A.gap < nearest.gap) nearest = turned(nearest_of_A);
  }
  collect_crossings(X_AB, reach, of_B, nearest);
  if (of_B.empty()) of_B.push_back(nearest);
  return of_B;
}

}  // namespace heelstrike::fem
