#include "fem_server/backends/rigid/rigid_geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/backend_interface/body_surfaces.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

/// [m] Over the size of the smaller body; smaller distances are rounding: a hundred times the gap tolerance of contact
/// for a model ten times as large as the body (RigidContactSet::contact_tolerance).
constexpr double rounding_fraction = 1e-8;
/// Maximum depth of a corner in a body, over that size, at which faces other than the nearest one are considered.
constexpr double max_depth_ratio = 0.1;

bool is_ball(const std::vector<Probe>& probes) {
  return probes.size() == 1 && probes.front().radius > 0.0;
}

double max_edge_length(const std::vector<Probe>& probes) {
  if (probes.empty()) return std::numeric_limits<double>::infinity();
  std::vector<Vector3> centers;
  for (const Probe& probe : probes) centers.push_back(probe.center);
  return extents_of(centers).maxCoeff() + 2.0 * probes.front().radius;
}

double max_edge_length(const RollingCylinder& cylinder) {
  const double diameter = 2.0 * cylinder.radius;
  return cylinder.is_finite() ? std::max(diameter, 2.0 * cylinder.half_length) : diameter;
}

double distance_from(const SharpEdge& edge, const Vector3& p) {
  const Vector3 along = edge.b - edge.a;
  const double s = std::clamp((p - edge.a).dot(along) / along.squaredNorm(), 0.0, 1.0);
  return (p - edge.a - s * along).norm();
}

/// A corner at a face. @param c  [m] the corner, in the frame of the face
ContactPoint at_face(std::size_t feature, const Vector3& c, const Vector3& n, double gap) {
  return {.feature = static_cast<std::int64_t>(feature), .p_AC = c - 0.5 * gap * n, .n_A = n, .gap = gap};
}

/// A point of the search from A to B as one from B to A, in the frame of A.
ContactPoint from_A(ContactPoint point, const Pose& X_AB) {
  // Features of A's own probes are marked by a negative sign.
  point.feature = -1 - point.feature;
  point.p_AC = X_AB * point.p_AC;
  point.n_A = -(X_AB.R * point.n_A);
  std::swap(point.curvature_A, point.curvature_B);
  return point;
}

/// True if the normals of the faces turn by more than 90 degrees at an edge.
bool has_acute_edge(const std::vector<SharpEdge>& edges) {
  return std::ranges::any_of(
      edges, [](const SharpEdge& edge) { return edge.normals[0].dot(edge.normals[1]) < -cone_rounding; });
}

bool has_sharp_corners(const std::vector<Probe>& probes) {
  return std::ranges::any_of(probes, [](const Probe& probe) { return !probe.edge_directions.empty(); });
}

}  // namespace

/// No probes for a plane, with which every other body is in contact by its own probes, for a socket, and for a
/// cylinder, whose contact points move around it.
RigidGeometry::Side RigidGeometry::side_of(const Surface& surface, const PrepareContext& context,
                                           const std::string& where) {
  Side side;
  if (PlaneSurface::of(surface)) return side;
  if (const auto sphere = SphereSurface::of(surface)) {
    if (sphere->radius > 0.0) side.probes = {{.center = sphere->center, .radius = sphere->radius}};
    return side;
  }
  if (const auto cloud = PointCloudSurface::of(surface)) {
    for (const Vector3& p : cloud->points) side.probes.push_back({.center = p});
    return side;
  }
  side.cylinder = RollingCylinder::of(surface);
  if (side.cylinder) return side;
  TriangleSize size;
  // The sides are flat: two triangles each are exact.
  if (const auto block = BlockSurface::of(surface)) size.edge = block->lengths.maxCoeff();
  SurfaceMesh mesh = cast_triangles(surface, size, context, where).mesh;
  // Shapes with an analytic distance are smooth or infinite.
  if (kind_of(surface).distance == nullptr) side.edges = sharp_edges(mesh);
  side.probes = corners_of(mesh, side.edges);
  side.convex = is_convex(mesh);
  side.is_acute = has_acute_edge(side.edges);
  side.mesh = std::move(mesh);
  return side;
}

double RigidGeometry::edge_rotation(const Surface& surface, const PrepareContext& context, const std::string& where) {
  const Side side = side_of(surface, context, where);
  return side.mesh ? max_edge_rotation(*side.mesh) : 0.0;
}

RigidGeometry::RigidGeometry(const PairSpec& pair, const PrepareContext& context) {
  const std::string where = "contact." + pair.name;
  A_ = side_of(pair.main.surface, context, where + ".main.surface");
  B_ = side_of(pair.partner.surface, context, where + ".partner.surface");
  size_ = std::numeric_limits<double>::infinity();
  for (const Side* side : {&A_, &B_}) {
    size_ = std::min(size_, side->cylinder ? max_edge_length(*side->cylinder) : max_edge_length(side->probes));
  }
  margin_ = rounding_fraction * size_;
  const auto surface_of = [](const Surface& surface, const Side& side) -> std::unique_ptr<SignedDistance> {
    if (kind_of(surface).distance != nullptr) return signed_distance(surface);
    return side.mesh ? mesh_distance(*side.mesh) : nullptr;
  };
  A_.surface = surface_of(pair.main.surface, A_);
  B_.surface = surface_of(pair.partner.surface, B_);
  // One ball finds the nearest point of any surface: corners of the other body lie on that surface too.
  const bool ball_of_A = is_ball(A_.probes), ball_of_B = is_ball(B_.probes);
  probes_of_B_ = A_.surface && (ball_of_B || (!B_.probes.empty() && !ball_of_A));
  probes_of_A_ = B_.surface && !A_.probes.empty() && !ball_of_B;
  if (ball_of_B) A_.cylinder.reset();
  if (ball_of_A) B_.cylinder.reset();
  for (Side* side : {&A_, &B_}) {
    if (side->probes.empty()) continue;
    std::vector<std::size_t> all(side->probes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    make_clusters(side->probes, std::move(all), side->clusters);
  }
  find_edges();
  const auto rolls = [](const Side& side, const Side& on) {
    return side.cylinder && on.surface && (side.cylinder->is_finite() || !on.edges.empty());
  };
  if (probes_of_A_ || probes_of_B_ || rolls(A_, B_) || rolls(B_, A_)) return;
  throw input_error(where, fmt::format("{}: expected two bodies, at least one with corners, vertices, points or "
                                       "ends and the other a surface, found {} on {}; give a mesh for one of them, or "
                                       "the cylinder its `length`",
                                       where, pair.main.surface.kind, pair.partner.surface.kind));
}

/// Edges are in contact with edges and cylinders; faces with sharp corners.
void RigidGeometry::find_edges() {
  for (const auto& [side, other] : {std::pair{&A_, &B_}, std::pair{&B_, &A_}}) {
    if (!side->edges.empty() && has_sharp_corners(other->probes)) {
      side->faces = std::make_unique<FacetedBody>(std::move(side->mesh).value());
    }
    const bool is_round = is_ball(other->probes) || (other->cylinder && other->cylinder->is_finite());
    if (side->mesh && !side->convex && is_round) side->minima = std::make_unique<MeshMinima>(std::move(*side->mesh));
    side->mesh.reset();
  }
  const bool both = probes_of_A_ && probes_of_B_ && !A_.edges.empty() && !B_.edges.empty();
  if (!both && !B_.cylinder) A_.edges.clear();
  if (!both && !A_.cylinder) B_.edges.clear();
  for (Side* side : {&A_, &B_}) {
    for (const SharpEdge& edge : side->edges) {
      side->edge_balls.push_back({.center = 0.5 * (edge.a + edge.b), .radius = 0.5 * (edge.b - edge.a).norm()});
    }
    if (side->edges.empty()) continue;
    std::vector<std::size_t> all(side->edges.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    make_clusters(side->edge_balls, std::move(all), side->edge_clusters);
  }
}

/// Recursively halves the probes across their longest extent.
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

/// Follows the half with the smaller lower bound, down to a few probes.
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
  for (const std::size_t k : clusters[i].probes) {
    const double radius = from.probes[k].radius;
    const double probe_gap = gap(from.probes[k].center, radius);
    // The search adds the radius again; rounding of difference and sum must not exclude the probe itself.
    const double rounded = 4.0 * std::numeric_limits<double>::epsilon() * (std::abs(probe_gap) + radius);
    bound = std::min(bound, probe_gap + rounded);
  }
  return bound;
}

void RigidGeometry::check_probe(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from,
                                double least, double reach, SearchResult& found) const {
  const Probe& own = from.probes[probe];
  const Vector3 c = X_to_from * own.center;
  if (to.surface->gap(c, least + own.radius) > least + own.radius) return;
  SurfacePoint at = to.surface->closest(c);
  const bool is_corner = to.cylinder && !own.edge_directions.empty();
  const auto supported = is_corner ? at_corner(*to.cylinder, own, c, X_to_from.R, at, margin_) : at;
  at = supported.value_or(at);
  const double gap = at.gap - own.radius;
  ContactPoint point{.feature = static_cast<std::int64_t>(probe),
                     .p_AC = c - (own.radius + 0.5 * gap) * at.normal,
                     .n_A = at.normal,
                     .gap = gap};
  // A level surface at distance d has the curvature k / (1 + k d).
  const double level = 1.0 - at.bend * at.gap;
  point.curvature_A = level != 0.0 ? at.bend / level : 0.0;
  point.curvature_B = own.radius > 0.0 ? 1.0 / own.radius : 0.0;
  if (gap < found.nearest.gap) found.nearest = point;
  if (gap > reach || !supported) return;
  if (to.minima && at.gap > 0.0) {
    add_ball_on_mesh(own, c, *to.minima, reach, margin_, point, found.points);
  } else if (to.faces && !own.edge_directions.empty()) {
    add_at_faces(from, probe, to, X_to_from, at, reach, found);
  } else {
    found.points.push_back(point);
  }
}

/// The first place keeps the feature of a ball that touches one, whatever triangle that is; a plane of the mesh
/// identifies each of the others.
void RigidGeometry::add_ball_on_mesh(const Probe& ball, const Vector3& c, const MeshMinima& mesh, double reach,
                                     double margin, const ContactPoint& nearest, std::vector<ContactPoint>& points) {
  const auto minima = mesh.near(c, ball.radius + reach, margin);
  if (minima.size() < 2) {
    points.push_back(nearest);
    return;
  }
  for (const MeshMinima::Minimum& minimum : minima) {
    const double gap = minimum.distance - ball.radius;
    ContactPoint point{.feature = nearest.feature,
                       .p_AC = c - (ball.radius + 0.5 * gap) * minimum.normal,
                       .n_A = minimum.normal,
                       .gap = gap,
                       .curvature_B = nearest.curvature_B};
    if (&minimum != minima.data()) point.feature += 1 + minimum.feature;
    points.push_back(point);
  }
}

/// A sharp corner at a body with faces: the faces that can support it, or the nearest edge or corner.
void RigidGeometry::add_at_faces(const Side& from, std::size_t probe, const Side& to, const Pose& X_to_from,
                                 const SurfacePoint& at, double reach, SearchResult& found) const {
  const Probe& corner = from.probes[probe];
  const Vector3 c = X_to_from * corner.center;
  std::vector<ContactPoint>& points = found.points;
  // Inside, the nearest face may be one that the corner's body lies beside: then farther faces are checked.
  double radius = std::abs(at.gap);
  FacetedBody::Faces faces = to.faces->faces_at(corner, c, X_to_from.R, radius, margin_);
  const bool is_tilted = faces.touched.empty() && !faces.level && !supports(corner, X_to_from.R, at.normal) &&
                         supports(corner, X_to_from.R, at.normal, edge_tilt);
  if (is_tilted) (at.gap <= margin_ ? found.tilted : points).push_back(at_face(probe, c, at.normal, at.gap));
  while (at.gap < 0.0 && faces.touched.empty() && !faces.level && radius < max_depth_ratio * size_) {
    radius = std::max(8.0 * radius, 100.0 * margin_);
    faces = to.faces->faces_at(corner, c, X_to_from.R, radius, margin_);
  }
  // Further faces, of a corner in a notch, are numbered after all other features.
  std::size_t feature = probe;
  for (const FacetedBody::Face& face : faces.touched) {
    if (face.gap <= reach) points.push_back(at_face(feature, c, face.normal, face.gap));
    feature +=
        &face == faces.touched.data() ? from.probes.size() + A_.edges.size() * B_.edges.size() : from.probes.size();
  }
  if (faces.touched.empty() && !faces.level && at.gap > margin_ && supports(corner, X_to_from.R, at.normal)) {
    points.push_back(at_face(probe, c, at.normal, at.gap));
  }
}

/// Of the tilted corners those at a face on which another corner of their body lies: their body tips over that one, and
/// they may return. They impose no bound on the depth.
void RigidGeometry::keep_rising_corners(SearchResult& found) {
  for (const ContactPoint& corner : found.tilted) {
    const bool rises = std::ranges::any_of(found.points, [&](const ContactPoint& other) {
      return corner.n_A.cross(other.n_A).norm() <= edge_tilt && corner.n_A.dot(other.n_A) > 0.0;
    });
    if (rises) found.edge_candidates.push_back(corner);
  }
}

/// Probes of one side against the surface of the other, in the frame of that other side with normals out of it.
void RigidGeometry::collect(const Side& from, const Side& to, const Pose& X_to_from, double reach,
                            SearchResult& found) const {
  const double bound = bound_on_gap(from, to, X_to_from);
  for (std::size_t i = 0; i < from.clusters.size();) {
    const Cluster& cluster = from.clusters[i];
    const double least = std::max(reach, std::min(bound, found.nearest.gap));
    const double far = least + cluster.radius;
    // A single probe is queried directly. If the ball around the cluster is out of reach, so are all its probes: a
    // distance changes by no more than the motion of the point.
    if (cluster.probes.size() != 1 && to.surface->gap(X_to_from * cluster.center, far) > far) {
      i = cluster.next;
      continue;
    }
    for (const std::size_t probe : cluster.probes) check_probe(from, probe, to, X_to_from, least, reach, found);
    ++i;
  }
}

bool RigidGeometry::collect_near(const Side& from, std::span<const ProbeCache::Entry> near, double margin, double moved,
                                 const Side& to, const Pose& X_to_from, double reach, SearchResult& found) const {
  if (reach + moved > margin) return false;
  const ContactPoint none = found.nearest;
  for (const auto& [probe, gap] : near) {
    const double least = std::max(reach, found.nearest.gap);
    if (gap - moved <= least) check_probe(from, probe, to, X_to_from, least, reach, found);
  }
  if (std::max(reach, found.nearest.gap) + moved > margin) {
    found = {.nearest = none};
    return false;
  }
  return true;
}

std::vector<ProbeCache::Entry> RigidGeometry::find_cached_probes(const Side& from, const Side& to,
                                                                 const Pose& X_to_from, double margin) {
  std::vector<ProbeCache::Entry> near;
  for (std::size_t i = 0; i < from.clusters.size();) {
    const Cluster& cluster = from.clusters[i];
    const double far = margin + cluster.radius;
    if (to.surface->gap(X_to_from * cluster.center, far) > far) {
      i = cluster.next;
      continue;
    }
    for (const std::size_t probe : cluster.probes) {
      const Probe& own = from.probes[probe];
      const double gap = to.surface->gap(X_to_from * own.center, margin + own.radius) - own.radius;
      if (gap <= margin) near.push_back({.probe = probe, .gap = gap});
    }
    ++i;
  }
  return near;
}

ProbeCache RigidGeometry::cached_probes(const Pose& X_AB, double margin) const {
  ProbeCache near{.X_AB = X_AB, .margin = margin};
  if (probes_of_B_) near.of_B = find_cached_probes(B_, A_, X_AB, margin);
  if (probes_of_A_) near.of_A = find_cached_probes(A_, B_, X_AB.inverse(), margin);
  return near;
}

double RigidGeometry::max_displacement(const Pose& X_AB, const Pose& Y_AB) const {
  const auto farthest = [](const Side& side, const Pose& X, const Pose& Y) {
    // All probes lie in the ball around the first cluster: its centre moves, and it rotates about the centre by an
    // angle whose chord on the unit sphere is at most |R - R'| (Frobenius) / sqrt(2).
    const Cluster& all = side.clusters.front();
    const double chord = (X.R - Y.R).norm() / std::sqrt(2.0);
    return (X * all.center - Y * all.center).norm() + chord * all.radius;
  };
  double max_displacement = 0.0;
  if (probes_of_B_) max_displacement = farthest(B_, X_AB, Y_AB);
  if (probes_of_A_) max_displacement = std::max(max_displacement, farthest(A_, X_AB.inverse(), Y_AB.inverse()));
  // Gaps are rounded like coordinates: some units in the last place of the size.
  return max_displacement + 1e-12 * size_;
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

/// A crossing is valid where both bodies are locally the wedges between the faces of these edges; the distance detects
/// bodies with another nearby side. @param point  of the crossing: feature and curvatures
void RigidGeometry::add_crossing(const EdgeCrossing& at, ContactPoint point, const Side& from, const Side& to,
                                 const Pose& X_from_to, double reach, SearchResult& found) const {
  point.p_AC = 0.5 * (at.p_A + at.p_B);
  point.n_A = at.n;
  point.gap = at.gap;
  const double gap_to = to.surface->closest(at.p_B).gap, gap_from = from.surface->closest(X_from_to * at.p_A).gap;
  const double off = 2.0 * edge_tilt * std::abs(at.gap) + margin_;
  // For overlapping convex bodies, the facet gaps determine the valid crossing.
  const bool behind = A_.convex && B_.convex && at.gap < -margin_, inside = behind && gap_to <= off && gap_from <= off;
  if (behind && !inside && (A_.is_acute || B_.is_acute)) {
    found.if_overlapping.push_back({.point = point, .is_from_cone = at.is_from_cone});
    return;
  }
  if (!inside && !(std::abs(gap_to - at.gap_A) <= off && std::abs(gap_from - at.gap_B) <= off)) return;
  if (at.inner && std::abs(from.surface->closest(X_from_to * *at.inner).gap - at.gap_inner) > off) return;
  if (point.gap > 0.0 && point.gap < found.nearest.gap) found.nearest = point;
  if (point.gap <= reach) (at.is_from_cone ? found.edge_candidates : found.points).push_back(point);
}

/// True if the plane across the direction of the nearest point separates two convex bodies: it does if they are apart,
/// and no plane does if they overlap.
bool RigidGeometry::are_apart(const ContactPoint& nearest, const Pose& X_AB) const {
  if (!(nearest.gap > 0.0)) return false;
  const auto lowest = [](const std::vector<Probe>& corners, const Vector3& n) {
    double low = std::numeric_limits<double>::infinity();
    for (const Probe& corner : corners) low = std::min(low, n.dot(corner.center));
    return low;
  };
  const Vector3 n_B = X_AB.R.transpose() * nearest.n_A;
  return nearest.n_A.dot(X_AB.p) + lowest(B_.probes, n_B) + lowest(A_.probes, -nearest.n_A) > 0.0;
}

/// Facets of the Minkowski difference of two convex bodies whose points lie outside the other body, beyond an edge
/// sharper than 90 degrees: they count as others do where the bodies overlap, and not where they are apart.
void RigidGeometry::add_overlap(const Pose& X_AB, SearchResult& found) const {
  if (!A_.convex || !B_.convex || (!A_.is_acute && !B_.is_acute)) return;
  if (found.nearest.gap > max_depth_ratio * size_ && found.if_overlapping.empty()) return;
  if (are_apart(found.nearest, X_AB)) return;
  for (const auto& [point, is_from_cone] : found.if_overlapping) {
    (is_from_cone ? found.edge_candidates : found.points).push_back(point);
  }
  const double depth = depth_bound(found.points);
  if (A_.is_acute && probes_of_B_) add_corners_beyond(B_, A_, X_AB, depth, found.points);
  if (B_.is_acute && probes_of_A_) {
    std::vector<ContactPoint> of_A;
    add_corners_beyond(A_, B_, X_AB.inverse(), depth, of_A);
    for (const ContactPoint& point : of_A) found.points.push_back(from_A(point, X_AB));
  }
}

/// [m] of the overlap of two convex bodies: that of the facet known to be nearest, with the rounding of cones.
double RigidGeometry::depth_bound(std::span<const ContactPoint> points) const {
  double depth = max_depth_ratio * size_;
  for (const ContactPoint& point : points) {
    if (point.gap < 0.0) depth = std::min(depth, cone_rounding * size_ - point.gap);
  }
  return depth;
}

/// Corners outside a body and behind one of its faces by up to `depth` [m].
void RigidGeometry::add_corners_beyond(const Side& from, const Side& to, const Pose& X_to_from, double depth,
                                       std::vector<ContactPoint>& points) const {
  if (!to.faces) return;
  for (const auto& [probe, gap] : find_cached_probes(from, to, X_to_from, depth)) {
    const Probe& corner = from.probes[probe];
    if (gap <= 0.0 || corner.edge_directions.empty()) continue;
    const Vector3 c = X_to_from * corner.center;
    for (const FacetedBody::Face& face : to.faces->faces_at(corner, c, X_to_from.R, depth, margin_).touched) {
      if (face.gap < -margin_) points.push_back(at_face(probe, c, face.normal, face.gap));
    }
  }
}

void RigidGeometry::collect_crossings(const Pose& X_AB, double reach, SearchResult& found) const {
  if (!probes_of_A_ || !probes_of_B_ || A_.edges.empty() || B_.edges.empty()) return;
  const Pose X_BA = X_AB.inverse();
  const double least = found.points.empty() ? std::max(reach, found.nearest.gap) : reach;
  const std::vector<std::size_t> near_A = edges_near(A_, B_, X_BA, least);
  const std::vector<std::size_t> near_B = edges_near(B_, A_, X_AB, least);
  for (const std::size_t b : near_B) {
    const SharpEdge edge = B_.edges[b].moved(X_AB);
    for (const std::size_t a : near_A) {
      const auto crossing_point = crossing(A_.edges[a], edge, margin_);
      if (!crossing_point || crossing_point->gap > least) continue;
      // Features of edges are numbered after those of all probes.
      const std::size_t feature = B_.probes.size() + b * A_.edges.size() + a;
      add_crossing(*crossing_point, {.feature = static_cast<std::int64_t>(feature)}, B_, A_, X_BA, reach, found);
    }
  }
}

/// A cylinder of `from` on the other body, in the frame of that body.
void RigidGeometry::collect_cylinder(const Side& from, const Side& to, const Pose& X_to_from, double reach,
                                     SearchResult& found) const {
  if (!from.cylinder || !to.surface) return;
  const RollingCylinder cylinder = from.cylinder->moved(X_to_from);
  if (to.cylinder) {
    const Pose X_from_to = X_to_from.inverse();
    const ContactPoint apart = separation(from, to, cylinder, X_from_to, reach);
    if (apart.gap <= reach) {
      add_points(rim_points(cylinder, *to.cylinder, margin_, found.nearest), reach, found);
      if (&from == &B_) collect_cylinder_pair(cylinder, X_from_to, reach, found);
    }
    if (found.points.empty()) found.nearest = apart;
    return;
  }
  std::vector<ContactPoint> on_faces = rim_points(cylinder, *to.surface, found.nearest);
  if (to.minima) add_rims_on_walls(cylinder, *to.minima, reach, margin_, on_faces);
  if (!to.edges.empty()) {
    collect_cylinder_on_edges(from, to, cylinder, X_to_from.inverse(), reach, on_faces, found);
  }
  add_points(on_faces, reach, found);
}

void RigidGeometry::add_points(std::span<const ContactPoint> points, double reach, SearchResult& found) {
  std::ranges::copy_if(points, std::back_inserter(found.points),
                       [&](const ContactPoint& point) { return point.gap <= reach; });
}

/// Sides and rims of two cylinders, B's in the frame of A.
void RigidGeometry::collect_cylinder_pair(const RollingCylinder& cylinder, const Pose& X_BA, double reach,
                                          SearchResult& found) const {
  const RollingCylinder& other = *A_.cylinder;
  std::int64_t feature = cylinder_features;
  if (auto point = side_on_side(other, cylinder, margin_)) {
    point->feature = feature;
    if (point->gap > 0.0 && point->gap < found.nearest.gap) found.nearest = *point;
    if (point->gap <= reach) found.points.push_back(*point);
  }
  if (cylinder.is_finite() && other.is_finite()) {
    for (const Rim& rim : cylinder.rims()) {
      for (const Rim& other_rim : other.rims()) {
        for (const auto& tangents : tangents_near(rim, other_rim)) {
          ++feature;
          const auto at = tangents ? crossing(tangents->second, tangents->first, margin_) : std::nullopt;
          if (!at) continue;
          const ContactPoint point{.feature = feature,
                                   .curvature_A = other.bend(at->p_A, at->n),
                                   .curvature_B = cylinder.bend(at->p_B, at->n)};
          add_crossing(*at, point, B_, A_, X_BA, reach, found);
        }
      }
    }
  }
}

/// A plane between two cylinders apart: the distance of their supporting planes is a lower bound of theirs, and equal
/// to it for the direction between the nearest points, which alternating projections approach.
/// @param cylinder  of `from`, in the frame of `to`
/// @param reach     [m] the bound of a smaller distance may be poor
ContactPoint RigidGeometry::separation(const Side& from, const Side& to, const RollingCylinder& cylinder,
                                       const Pose& X_from_to, double reach) {
  // Between nearly parallel faces the projections approach slowly; a bound of this accuracy ends them.
  constexpr int max_projections = 1000;
  constexpr double accuracy = 0.99;
  const auto bound = [&](const Vector3& n) { return -cylinder.extent(n) - to.cylinder->extent(-n); };
  const Matrix3 R_to_from = X_from_to.R.transpose();
  Vector3 p = cylinder.center;
  SurfacePoint at = to.surface->closest(p);
  for (int i = 0; i < max_projections && at.gap > reach && bound(at.normal) < accuracy * at.gap; ++i) {
    const Vector3 foot = p - at.gap * at.normal;
    const SurfacePoint back = from.surface->closest(X_from_to * foot);
    if (!(back.gap > 0.0)) break;
    p = foot - back.gap * (R_to_from * back.normal);
    at = to.surface->closest(p);
  }
  return {.feature = cylinder_pair_bound,
          .p_AC = p - 0.5 * at.gap * at.normal,
          .n_A = at.normal,
          .gap = at.gap > 0.0 ? bound(at.normal) : at.gap};
}

/// The side and the rims of a cylinder on sharp edges. Points of rims on faces that are not clearly on one face are
/// removed: those at the edge stand for them.
void RigidGeometry::collect_cylinder_on_edges(const Side& from, const Side& to, const RollingCylinder& cylinder,
                                              const Pose& X_from_to, double reach, std::vector<ContactPoint>& on_faces,
                                              SearchResult& found) const {
  const double least = std::max(reach, found.nearest.gap);
  for (const std::size_t number : edges_near(to, from, X_from_to, least)) {
    const SharpEdge& edge = to.edges[number];
    std::erase_if(on_faces, [&](const ContactPoint& point) {
      const Vector3 p = point.p_AC + 0.5 * point.gap * point.n_A;
      return distance_from(edge, p) <= (1.0 + cone_rounding) * std::abs(point.gap) + margin_;
    });
    std::int64_t feature = cylinder_features + features_of_edge * static_cast<std::int64_t>(number);
    if (auto point = side_on_edge(cylinder, edge, *to.surface, margin_)) {
      point->feature = feature;
      if (point->gap > 0.0 && point->gap < found.nearest.gap) found.nearest = *point;
      if (point->gap <= reach) found.points.push_back(*point);
    }
    if (!cylinder.is_finite()) continue;
    for (const Rim& rim : cylinder.rims()) {
      for (const auto& tangent : tangents_near(rim, edge)) {
        ++feature;
        const auto at = tangent ? crossing(edge, *tangent, margin_) : std::nullopt;
        if (!at) continue;
        add_crossing(*at, {.feature = feature, .curvature_B = cylinder.bend(at->p_B, at->n)}, from, to, X_from_to,
                     reach, found);
      }
    }
  }
}

/// Removes points equivalent to an earlier one, and points deeper than another one: for two overlapping convex bodies,
/// facets of their Minkowski difference farther than the nearest one impose no bound; for others, this applies to
/// points at the same position.
void RigidGeometry::remove_redundant_points(SearchResult& found) const {
  const auto same_normal = [](const ContactPoint& p, const ContactPoint& q, double rotation_angle) {
    return p.n_A.cross(q.n_A).norm() <= 2.0 * rotation_angle && p.n_A.dot(q.n_A) > 0.0;
  };
  const auto is_redundant = [&](const ContactPoint& p, const ContactPoint& than) {
    return p.gap < -margin_ && than.gap > (1.0 - cone_rounding) * p.gap + margin_ && !same_normal(p, than, edge_tilt) &&
           ((A_.convex && B_.convex) || (p.p_AC - than.p_AC).norm() <= 0.75 * std::abs(p.gap) + margin_);
  };
  const auto is_duplicate = [&](const ContactPoint& p, const ContactPoint& as) {
    return same_normal(p, as, cone_rounding) && std::abs(p.gap - as.gap) <= margin_ &&
           (p.p_AC - as.p_AC).norm() <= 3.0 * margin_;
  };
  std::vector<ContactPoint>& points = found.points;
  std::ranges::sort(points, {}, &ContactPoint::feature);
  // Tipping edges impose no bound yet.
  const std::size_t n_bounds = points.size();
  points.insert(points.end(), found.edge_candidates.begin(), found.edge_candidates.end());
  std::vector<ContactPoint> kept;
  for (const ContactPoint& p : points) {
    const auto begin = points.begin(), end = begin + static_cast<std::ptrdiff_t>(n_bounds);
    if (std::any_of(begin, end, [&](const ContactPoint& q) { return is_redundant(p, q); })) continue;
    if (std::ranges::any_of(kept, [&](const ContactPoint& q) { return is_duplicate(p, q); })) continue;
    kept.push_back(p);
  }
  std::ranges::sort(kept, {}, &ContactPoint::feature);
  points = std::move(kept);
}

RigidPoints RigidGeometry::points(const Pose& X_AB, double reach, const ProbeCache* near) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  SearchResult of_B{.nearest = {.gap = none}}, of_A{.nearest = {.gap = none}};
  const double margin = near != nullptr ? near->margin : 0.0;
  const double moved = near != nullptr ? max_displacement(near->X_AB, X_AB) : none;
  if (probes_of_B_ && (near == nullptr || !collect_near(B_, near->of_B, margin, moved, A_, X_AB, reach, of_B))) {
    collect(B_, A_, X_AB, reach, of_B);
  }
  const Pose X_BA = X_AB.inverse();
  if (probes_of_A_ && (near == nullptr || !collect_near(A_, near->of_A, margin, moved, B_, X_BA, reach, of_A))) {
    collect(A_, B_, X_BA, reach, of_A);
  }
  keep_rising_corners(of_B);
  keep_rising_corners(of_A);
  collect_cylinder(B_, A_, X_AB, reach, of_B);
  collect_cylinder(A_, B_, X_BA, reach, of_A);
  for (const ContactPoint& point : of_A.points) of_B.points.push_back(from_A(point, X_AB));
  for (const ContactPoint& point : of_A.edge_candidates) of_B.edge_candidates.push_back(from_A(point, X_AB));
  if (of_A.nearest.gap < of_B.nearest.gap) of_B.nearest = from_A(of_A.nearest, X_AB);
  collect_crossings(X_AB, reach, of_B);
  add_overlap(X_AB, of_B);
  remove_redundant_points(of_B);
  RigidPoints result{.points = std::move(of_B.points), .nearest = of_B.nearest};
  if (!result.points.empty()) result.nearest = *std::ranges::min_element(result.points, {}, &ContactPoint::gap);
  return result;
}

}  // namespace heelstrike::fem
