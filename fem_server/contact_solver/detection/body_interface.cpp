#include "fem_server/contact_solver/detection/body_interface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/geometry/triangle_clipping.hpp"

namespace heelstrike::fem {

namespace {

using Eigen::Vector2d;

/// Triangles face each other up to this cosine between one normal and the opposite of the other: 60 degrees. The faces
/// of a cube standing on a corner are at 54.7 degrees; the sides of blocks tilted by less than 30 degrees do not face
/// the body below.
constexpr double min_facing_cosine = 0.5;
/// Maximum penetration of pairs of triangles: this multiple of the deepest node's depth, plus this fraction of an
/// element for points between nodes. The opposite sides of a thin overlap of two bodies face each other too, at a
/// distance far above the depth of any node, which measures the shortest way out.
constexpr double facet_search_factor = 2.0;
constexpr double element_search_fraction = 0.25;
/// Distance of reported gaps of separated bodies from a triangle of A, over its longest edge. A point of a triangle is
/// no farther than an edge from its corners, whose distances are known.
constexpr double facet_gap_factor = 2.0;
/// Fraction of its area below which a function is merged with a neighbour. For a strip of width e of its triangles, the
/// function of a node beyond the edge of B has e^2 / 2 of its area and loads its own node by e of its force, so that
/// the system would become singular like e^2; 0.05 is e = 0.3.
constexpr double min_part = 0.05;
/// Fraction of an area below which a polygon results from the rounding of coincident edges.
constexpr double min_overlap_fraction = 1e-12;
/// Tolerance of weights, sums of products of rounded numbers, and of distances over elements.
constexpr double rounding = 1e-9;
/// Overlap, over the size of the body, due to the rounding of coplanar sides.
constexpr double side_overlap_tolerance = 1e-9;

double cross(const Vector2d& a, const Vector2d& b) {
  return a.x() * b.y() - a.y() * b.x();
}

/// Three linear functions in the plane.
struct PlaneFunctions {
  Eigen::Matrix<double, 3, 2> slope;
  Vector3 value;
  [[nodiscard]] Vector3 at(const Vector2d& x) const { return slope * x + value; }
};

PlaneFunctions barycentric(const PlaneTriangle& t) {
  const double twice_area = cross(t[1] - t[0], t[2] - t[0]);
  PlaneFunctions b;
  for (std::size_t k = 0; k < 3; ++k) {
    const Vector2d& p = t[(k + 1) % 3];
    const Vector2d& q = t[(k + 2) % 3];
    const auto row = static_cast<Eigen::Index>(k);
    b.slope.row(row) << (p.y() - q.y()) / twice_area, (q.x() - p.x()) / twice_area;
    b.value[row] = cross(p, q) / twice_area;
  }
  return b;
}

/// Integrals over the part of a triangle of A opposite to one of B; b are barycentric coordinates.
struct PairIntegrals {
  Vector3 b = Vector3::Zero();      ///< [m^2] of b_A
  Vector3 gap = Vector3::Zero();    ///< [m^3] of b_A g
  Matrix3 own = Matrix3::Zero();    ///< [m^2] of b_A b_A^T
  Matrix3 other = Matrix3::Zero();  ///< [m^2] of b_A b_B^T
};

}  // namespace

/// A triangle of A at its pose, in B.
struct BodyInterface::Facet {
  std::uint32_t triangle = 0;
  std::array<Vector3, 3> corners;  ///< [m] in B
  double longest = 0.0;            ///< [m] edge
  Vector3 e1, e2, normal;          ///< [-] axes of its plane, out of A; in B
  Vector3 along;                   ///< [-] projection direction from its points to those of B; in B
  Vector3 shift;                   ///< [m] additional tangential offset of B's points; in B
  [[nodiscard]] Vector2d own(const Vector3& p) const { return {e1.dot(p - corners[0]), e2.dot(p - corners[0])}; }
  [[nodiscard]] Vector2d project_onto_facet(const Vector3& p_BQ) const {
    const Vector3 q = p_BQ - shift;
    return own(q - normal.dot(q - corners[0]) / normal.dot(along) * along);
  }
};

struct BodyInterface::Pair {
  std::uint32_t facet = 0;      ///< in the list of facets
  std::uint32_t triangle = 0;   ///< of B
  double min_corner_gap = 0.0;  ///< [m] of the corners of the facet: lower bound of the pair
  bool opposing = false;        ///< along the normal of the facet
  bool in_functions = false;
};

namespace {

template <class Facet>
PlaneTriangle plane_corners(const Facet& facet) {
  return {facet.own(facet.corners[0]), facet.own(facet.corners[1]), facet.own(facet.corners[2])};
}

using Corners = std::array<Vector3, 3>;

Corners corners_of(const SurfaceMesh& mesh, std::uint32_t t) {
  const Triangle& corners = mesh.triangles[t];
  return {mesh.vertices[corners[0]], mesh.vertices[corners[1]], mesh.vertices[corners[2]]};
}

/// True if the bounding boxes of two triangles in the plane, one enlarged by `margin`, have a common point.
bool boxes_overlap(const PlaneTriangle& a, const PlaneTriangle& b, double margin) {
  const auto low = [](const PlaneTriangle& t) { return Vector2d(t[0].cwiseMin(t[1]).cwiseMin(t[2])); };
  const auto high = [](const PlaneTriangle& t) { return Vector2d(t[0].cwiseMax(t[1]).cwiseMax(t[2])); };
  return (low(a).array() <= high(b).array() + margin).all() && (low(b).array() <= high(a).array() + margin).all();
}

/// Slope of the projection from A to B: half the angle between facing triangles, 30 degrees at most.
constexpr double max_ray_slope = std::numbers::inv_sqrt3;

/// True if a triangle of B can lie in front of that of A along any such projection.
template <class Facet>
bool may_contact(const Facet& facet, const Corners& y) {
  double farthest = 0.0;
  for (const Vector3& p : y) {
    farthest = std::max(farthest, std::abs(facet.normal.dot(p - facet.shift - facet.corners[0])));
  }
  return boxes_overlap(plane_corners(facet),
                       {facet.project_onto_facet(y[0]), facet.project_onto_facet(y[1]), facet.project_onto_facet(y[2])},
                       max_ray_slope * farthest);
}

/// A triangle of A and one of B, projected on A's plane.
class Overlap {
 public:
  template <class Facet>
  Overlap(const Facet& facet, const SurfaceMesh& B, std::uint32_t triangle, const Vector3& normal_B)
      : corners_A_(plane_corners(facet)) {
    const Corners y = corners_of(B, triangle);
    for (std::size_t k = 0; k < 3; ++k) corners_B_[k] = facet.project_onto_facet(y[k]);
    gap_slope_ = {normal_B.dot(facet.e1), normal_B.dot(facet.e2)};
    gap_value_ = normal_B.dot(facet.corners[0] - y[0]);
    // In the plane of A, a triangle that faces A has the reverse orientation.
    const PlaneTriangle reversed{corners_B_[0], corners_B_[2], corners_B_[1]};
    if (boxes_overlap(corners_A_, reversed, 0.0)) polygon_ = common_part(corners_A_, reversed);
  }
  [[nodiscard]] std::span<const Vector2d> polygon() const { return polygon_.corners(); }
  [[nodiscard]] double gap(const Vector2d& x) const { return gap_slope_.dot(x) + gap_value_; }
  /// [m^2]
  [[nodiscard]] double area() const {
    double twice = 0.0;
    const auto x = polygon();
    for (std::size_t i = 1; i + 1 < x.size(); ++i) twice += cross(x[i] - x[0], x[i + 1] - x[0]);
    return 0.5 * twice;
  }

  /// Exact: products of two linear functions on the triangles of a fan, by the mid-edge rule.
  [[nodiscard]] PairIntegrals integrals() const {
    const PlaneFunctions b_A = barycentric(corners_A_);
    const PlaneFunctions b_B = barycentric(corners_B_);
    const auto x = polygon();
    PairIntegrals sum;
    for (std::size_t i = 1; i + 1 < x.size(); ++i) {
      const double weight = cross(x[i] - x[0], x[i + 1] - x[0]) / 6.0;
      for (const Vector2d& q :
           {Vector2d(0.5 * (x[0] + x[i])), Vector2d(0.5 * (x[i] + x[i + 1])), Vector2d(0.5 * (x[i + 1] + x[0]))}) {
        const Vector3 a = weight * b_A.at(q);
        sum.b += a;
        sum.gap += gap(q) * a;
        sum.own += a * b_A.at(q).transpose();
        sum.other += a * b_B.at(q).transpose();
      }
    }
    return sum;
  }

 private:
  PlaneTriangle corners_A_;
  PlaneTriangle corners_B_;
  Vector2d gap_slope_;
  double gap_value_ = 0.0;
  ClippedPolygon polygon_;
};

/// A function during the summation of its integrals.
struct Sums {
  InterfacePoint place;  // gap and normal times the area, point not yet divided by it
  double unknown = 0.0;  // [m^2]
  bool alive = true;
};

void add(const Sums& part, Sums& to) {
  to.place.gap += part.place.gap;
  to.place.normal += part.place.normal;
  to.place.point += part.place.point;
  to.place.area += part.place.area;
  to.unknown += part.unknown;
  for (const auto& [from, into] : {std::pair(&part.place.on_A, &to.place.on_A), {&part.place.on_B, &to.place.on_B}}) {
    into->insert(into->end(), from->begin(), from->end());
    merge_entries(*into);
  }
}

/// The active function with the largest overlap with `j`, the first of equals; `j` itself if there is none.
std::size_t nearest_function(const std::vector<Sums>& functions, std::size_t j) {
  std::size_t best = j;
  double most = 0.0;
  std::size_t k = 0;
  for (const auto& [node, share] : functions[j].place.on_A) {
    while (k < functions.size() && functions[k].place.node < node) ++k;
    if (k == functions.size() || functions[k].place.node != node || k == j || !functions[k].alive) continue;
    if (share <= most) continue;
    most = share;
    best = k;
  }
  return best;
}

using Merged = std::vector<std::array<std::uint32_t, 2>>;

/// Merges functions of very small area with others: the sum of all functions remains one.
Merged merge_small_functions(const std::vector<double>& full_areas, std::vector<Sums>& functions) {
  Merged merged;
  std::vector<std::size_t> small;
  const auto part = [&](std::size_t j) { return functions[j].place.area / full_areas[functions[j].place.node]; };
  for (std::size_t j = 0; j < functions.size(); ++j) {
    if (part(j) < min_part) small.push_back(j);
  }
  std::ranges::stable_sort(small, {}, part);
  for (const std::size_t j : small) {
    if (part(j) >= min_part) continue;
    const std::size_t k = nearest_function(functions, j);
    if (k == j) continue;
    add(functions[j], functions[k]);
    functions[j].alive = false;
    merged.push_back({functions[j].place.node, functions[k].place.node});
  }
  return merged;
}

/// The same functions as at another pose.
void merge_as(const Merged& merged, std::vector<Sums>& functions) {
  const auto find = [&](std::uint32_t node) {
    const auto found = std::ranges::lower_bound(functions, node, {}, [](const Sums& f) { return f.place.node; });
    return found != functions.end() && found->place.node == node ? &*found : nullptr;
  };
  for (const auto& [small, with] : merged) {
    Sums* const from = find(small);
    Sums* const to = find(with);
    if (from == nullptr || to == nullptr) continue;
    add(*from, *to);
    from->alive = false;
  }
}

/// Means from integrals. @param of_node  of every contact node, including those without a partner
std::vector<InterfacePoint> places_of(std::vector<Sums> of_node, const std::vector<double>& full_areas,
                                      const InterfaceTopology* topology, InterfaceTopology& result) {
  std::vector<Sums> functions;
  for (std::uint32_t node = 0; node < of_node.size(); ++node) {
    Sums& sums = of_node[node];
    if (!(sums.place.area > min_overlap_fraction * full_areas[node])) continue;
    sums.place.node = node;
    merge_entries(sums.place.on_A);
    merge_entries(sums.place.on_B);
    functions.push_back(std::move(sums));
  }
  if (topology != nullptr) {
    merge_as(topology->merged, functions);
  } else {
    result.merged = merge_small_functions(full_areas, functions);
  }
  std::vector<InterfacePoint> places;
  for (Sums& sums : functions) {
    if (!sums.alive) continue;
    InterfacePoint& place = sums.place;
    const double area = place.area;
    place.gap /= place.normal.norm();
    place.normal.normalize();
    place.point /= area;
    for (auto* entries : {&place.on_A, &place.on_B}) {
      for (auto& [node, weight] : *entries) weight /= area;
    }
    place.outside = sums.unknown > rounding * area;
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace

const InterfacePoint* find_interface_point(std::span<const InterfacePoint> points, std::uint32_t node) {
  const auto found = std::ranges::lower_bound(points, node, {}, &InterfacePoint::node);
  return found != points.end() && found->node == node ? &*found : nullptr;
}

BodyInterface::BodyInterface(ContactSurface main, std::size_t n_nodes, std::shared_ptr<const DeformablePartner> partner,
                             double max_penetration)
    : main_(std::move(main)),
      partner_(std::move(partner)),
      max_penetration_(max_penetration),
      full_areas_(n_nodes, 0.0) {
  for (std::uint32_t t = 0; t < main_.triangles.size(); ++t) {
    const ContactTriangle& triangle = main_.triangles[t];
    const Eigen::Vector4d shares = triangle.functions.colwise().sum() * triangle_cross(main_.mesh, t).norm() / 6.0;
    for (std::size_t k = 0; k < triangle.nodes.size(); ++k) {
      if (triangle.nodes[k] != no_contact_node) full_areas_[triangle.nodes[k]] += shares[static_cast<Eigen::Index>(k)];
    }
  }
  const SurfaceMesh& B = partner_->surface().mesh;
  for (std::uint32_t t = 0; t < B.triangles.size(); ++t) normals_B_.push_back(triangle_cross(B, t).normalized());
}

Interface BodyInterface::at(const Pose& X_AB, std::span<const double> node_gaps, const Vector3& shift) const {
  Interface interface;
  interface.min_gap = std::numeric_limits<double>::infinity();
  std::vector<Facet> facets = facets_near(X_AB.inverse(), node_gaps, X_AB.R.transpose() * shift);
  interface.seen = find_facet_penetration(facets, node_gaps);
  std::vector<Pair> pairs = pairs_of(facets, interface.seen);
  restrict_facets(pairs, facets);
  find_closest(facets, pairs, X_AB, interface);
  if (interface.min_gap >= 0.0) return interface;
  InterfaceTopology& topology = interface.topology;
  interface.places = interface_points_in_A(facets, pairs, -interface.min_gap, X_AB, nullptr, topology);
  for (const Pair& pair : pairs) {
    if (!pair.opposing && !pair.in_functions) continue;
    topology.opposing.push_back(
        {.of_A = facets[pair.facet].triangle, .of_B = pair.triangle, .in_functions = pair.in_functions});
  }
  return interface;
}

std::vector<InterfacePoint> BodyInterface::at_nearby(const Pose& X_AB, const InterfaceTopology& topology,
                                                     const Vector3& shift) const {
  const Pose X_BA = X_AB.inverse();
  const Vector3 shift_B = X_AB.R.transpose() * shift;
  std::vector<Facet> facets;
  std::vector<Pair> pairs;
  for (const InterfaceTopology::Opposing& opposing : topology.opposing) {
    if (facets.empty() || facets.back().triangle != opposing.of_A) {
      facets.push_back(facet_of(opposing.of_A, X_BA, shift_B));
    }
    pairs.push_back({.facet = static_cast<std::uint32_t>(facets.size() - 1),
                     .triangle = opposing.of_B,
                     .in_functions = opposing.in_functions});
  }
  restrict_facets(pairs, facets);
  std::erase_if(pairs, [](const Pair& pair) { return !pair.in_functions; });
  InterfaceTopology ignored;
  return interface_points_in_A(facets, pairs, 0.0, X_AB, &topology, ignored);
}

std::vector<InterfacePoint> BodyInterface::displace_points(const Pose& X_AB, const Interface& undeformed) const {
  const std::vector<double> near_enough(full_areas_.size(), 0.0);
  std::vector<Facet> facets = facets_near(X_AB.inverse(), near_enough, Vector3::Zero());
  std::vector<Pair> pairs = pairs_of(facets, undeformed.seen);
  restrict_facets(pairs, facets);
  InterfaceTopology ignored;
  return interface_points_in_A(facets, pairs, -undeformed.min_gap, X_AB, nullptr, ignored);
}

std::vector<InterfacePoint> BodyInterface::interface_points_in_A(std::span<const Facet> facets, std::span<Pair> pairs,
                                                                 double depth, const Pose& X_AB,
                                                                 const InterfaceTopology* topology,
                                                                 InterfaceTopology& found) const {
  std::vector<InterfacePoint> places = integrate(facets, pairs, depth, topology, found);
  for (InterfacePoint& place : places) {
    place.normal = X_AB.R * place.normal;
    place.point = X_AB * place.point;
  }
  return places;
}

BodyInterface::Facet BodyInterface::facet_of(std::uint32_t triangle, const Pose& X_BA, const Vector3& shift_B) const {
  Facet facet;
  facet.triangle = triangle;
  for (std::size_t k = 0; k < 3; ++k) facet.corners[k] = X_BA * main_.mesh.vertices[main_.mesh.triangles[triangle][k]];
  const auto& c = facet.corners;
  facet.longest = std::max({(c[1] - c[0]).norm(), (c[2] - c[1]).norm(), (c[0] - c[2]).norm()});
  facet.e1 = (c[1] - c[0]).normalized();
  facet.normal = (c[1] - c[0]).cross(c[2] - c[0]).normalized();
  facet.e2 = facet.normal.cross(facet.e1);
  facet.along = facet.normal;
  facet.shift = shift_B;
  return facet;
}

std::vector<BodyInterface::Facet> BodyInterface::facets_near(const Pose& X_BA, std::span<const double> node_gaps,
                                                             const Vector3& shift_B) const {
  std::vector<Facet> facets;
  for (std::uint32_t t = 0; t < main_.triangles.size(); ++t) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const std::uint32_t node : main_.triangles[t].nodes) {
      if (node != no_contact_node) nearest = std::min(nearest, node_gaps[node]);
    }
    if (std::isinf(nearest)) continue;  // no part of it can carry a force
    Facet facet = facet_of(t, X_BA, shift_B);
    if (nearest <= (facet_gap_factor + 1.0) * facet.longest) facets.push_back(facet);
  }
  return facets;
}

double BodyInterface::find_facet_penetration(std::span<const Facet> facets, std::span<const double> node_gaps) const {
  const double limit = facet_search_factor * max_penetration_;
  double deepest = 0.0;
  for (const double gap : node_gaps) deepest = std::max(deepest, -gap);
  double longest = 0.0;
  for (const Facet& facet : facets) longest = std::max(longest, facet.longest);
  // No node of A is inside B: a part of B penetrates an element, at any depth.
  if (deepest <= rounding * longest) return limit;
  return std::min(limit, facet_search_factor * deepest + element_search_fraction * longest);
}

std::vector<BodyInterface::Pair> BodyInterface::pairs_of(std::span<const Facet> facets, double depth) const {
  const SurfaceMesh& B = partner_->surface().mesh;
  std::vector<Pair> pairs;
  for (std::uint32_t f = 0; f < facets.size(); ++f) {
    const Facet& facet = facets[f];
    const double farthest = facet_gap_factor * facet.longest;
    const Vector3 normal_offset = facet.shift + farthest / min_facing_cosine * facet.normal;
    const Vector3 back = facet.shift - depth / min_facing_cosine * facet.normal;
    const Vector3 lateral_offset = Vector3::Constant(max_ray_slope * (farthest + depth));
    Vector3 low = facet.corners[0] + normal_offset;
    Vector3 high = low;
    for (const Vector3& corner : facet.corners) {
      for (const Vector3& end : {Vector3(corner + normal_offset), Vector3(corner + back)}) {
        low = low.cwiseMin(end);
        high = high.cwiseMax(end);
      }
    }
    for (const std::uint32_t t : partner_->tree().overlapping(low - lateral_offset, high + lateral_offset)) {
      const Vector3& n = normals_B_[t];
      if (n.dot(facet.normal) > -min_facing_cosine || !may_contact(facet, corners_of(B, t))) continue;
      const double offset = n.dot(B.vertices[B.triangles[t][0]]);
      Vector3 gaps;
      for (std::size_t k = 0; k < 3; ++k) gaps[static_cast<Eigen::Index>(k)] = n.dot(facet.corners[k]) - offset;
      if (gaps.minCoeff() > farthest || gaps.maxCoeff() < -depth) continue;
      pairs.push_back({.facet = f, .triangle = t, .min_corner_gap = gaps.minCoeff()});
    }
  }
  return pairs;
}

void BodyInterface::restrict_facets(std::span<Pair> pairs, std::vector<Facet>& facets) const {
  std::vector<Vector3> normals(facets.size(), Vector3::Zero());
  for (Pair& pair : pairs) {
    const Vector3& n = normals_B_[pair.triangle];
    const double area = Overlap(facets[pair.facet], partner_->surface().mesh, pair.triangle, n).area();
    pair.opposing = area != 0.0;
    normals[pair.facet] += area * n;
  }
  for (std::size_t f = 0; f < facets.size(); ++f) {
    const double size = normals[f].norm();
    if (size > 0.0) facets[f].along = (facets[f].normal - normals[f] / size).normalized();
  }
}

void BodyInterface::find_closest(std::span<const Facet> facets, std::span<const Pair> pairs, const Pose& X_AB,
                                 Interface& interface) const {
  // Sorted by lower bound: few pairs are clipped before no other pair can be deeper.
  std::vector<Pair> sorted(pairs.begin(), pairs.end());
  std::ranges::stable_sort(sorted, {}, &Pair::min_corner_gap);
  for (const Pair& pair : sorted) {
    if (pair.min_corner_gap >= interface.min_gap) break;
    const Facet& facet = facets[pair.facet];
    const Overlap overlap(facet, partner_->surface().mesh, pair.triangle, normals_B_[pair.triangle]);
    for (const Vector2d& x : overlap.polygon()) {
      const double gap = overlap.gap(x);
      if (gap >= interface.min_gap) continue;
      interface.min_gap = gap;
      interface.closest = X_AB * (facet.corners[0] + x.x() * facet.e1 + x.y() * facet.e2);
      interface.closest_normal = X_AB.R * normals_B_[pair.triangle];
    }
  }
}

std::vector<InterfacePoint> BodyInterface::integrate(std::span<const Facet> facets, std::span<Pair> pairs, double depth,
                                                     const InterfaceTopology* topology,
                                                     InterfaceTopology& found) const {
  std::vector<Sums> of_node(full_areas_.size());
  const ContactSurface& B = partner_->surface();
  for (Pair& pair : pairs) {
    const Facet& facet = facets[pair.facet];
    // The pressure lies on nodes whose gap is at most the depth; their triangles extend one edge farther.
    if (pair.min_corner_gap > depth + facet_gap_factor * facet.longest) continue;
    const Overlap overlap(facet, B.mesh, pair.triangle, normals_B_[pair.triangle]);
    if (overlap.polygon().empty()) continue;
    pair.in_functions = true;
    const PairIntegrals sums = overlap.integrals();
    const ContactTriangle& own = main_.triangles[facet.triangle];
    for (std::size_t a = 0; a < own.nodes.size(); ++a) {
      if (own.nodes[a] == no_contact_node) continue;
      const Vector3 function = own.functions.col(static_cast<Eigen::Index>(a));
      Sums& to = of_node[own.nodes[a]];
      const double area = function.dot(sums.b);
      const Vector3 on_corners = sums.own.transpose() * function;
      to.place.area += area;
      to.place.gap += function.dot(sums.gap);
      to.place.normal += area * normals_B_[pair.triangle];
      for (std::size_t k = 0; k < 3; ++k) {
        to.place.point += on_corners[static_cast<Eigen::Index>(k)] * facet.corners[k];
      }
      add_weights(own, on_corners, to.place.on_A);
      to.unknown += add_weights(B.triangles[pair.triangle], sums.other.transpose() * function, to.place.on_B);
    }
  }
  return places_of(std::move(of_node), full_areas_, topology, found);
}

Interface begin_between_bodies(const BodyInterface& interface, std::span<const double> node_gaps,
                               const PairState& state, const ContactOptions& options, double size,
                               ContactSolution& solved) {
  Interface found = interface.at(state.X_AB, node_gaps);
  solved.update_closest(found.closest, {.gap = found.min_gap, .normal = found.closest_normal});
  if (solved.gap > 0.0) return found;
  check_depth(solved, options, state);
  if (found.places.empty() && -solved.gap > side_overlap_tolerance * size) {
    const Vector3& p = solved.closest.x;
    throw RecoverableError(
        fmt::format("the bodies overlap by {} m at ({}, {}, {}) m of the main body, where no contact faces face "
                    "each other within 60 degrees, at t = {} s; use a smaller step, extend contact_set, contact_box "
                    "or contact_direction, or exchange main and partner",
                    -solved.gap, p.x(), p.y(), p.z(), state.t));
  }
  return found;
}

void reject_unknown_point(const Vector3& p_AQ) {
  throw input_error("partner_contact_direction",
                    fmt::format("the bodies touch at ({}, {}, {}) m of the main body, where the partner has no contact "
                                "nodes; extend partner_contact_set, partner_contact_box or partner_contact_direction",
                                p_AQ.x(), p_AQ.y(), p_AQ.z()));
}

namespace {

/// [m^2] parts of the areas of the nodes of one body that face the other.
std::vector<double> facing_areas(const WeightedNodes& on_body, std::span<const double> areas, std::size_t n_nodes) {
  std::vector<double> result(n_nodes, 0.0);
  for (std::uint32_t i = 0; i < areas.size(); ++i) {
    for (const auto& [node, weight] : on_body.at(i)) result[node] += weight * areas[i];
  }
  return result;
}

/// [m^2] of non-zero interpolated pressure. Its border lies between the active functions and the nodes in their
/// support, so the result is the mean of the areas of both.
/// @param shares  per contact node of A, fraction of the counted area; empty = all of it
double interface_area(const InterfaceContact& contact, std::span<const double> shares = {}) {
  const auto share = [&](std::size_t node) { return shares.empty() ? 1.0 : shares[node]; };
  const std::size_t n_nodes = contact.recovery_A->n_nodes();
  const std::vector<double> areas = facing_areas(*contact.on_A, contact.areas, n_nodes);
  std::vector<bool> loaded(n_nodes, false);
  double pushing = 0.0;
  for (const std::uint32_t i : contact.touching) {
    pushing += share(contact.nodes[i]) * contact.areas[i];
    for (const auto& [node, weight] : contact.on_A->at(i)) loaded[node] = true;
  }
  double reached = 0.0;
  for (std::size_t node = 0; node < areas.size(); ++node) {
    if (loaded[node]) reached += share(node) * areas[node];
  }
  return 0.5 * (pushing + reached);
}

/// Pressure at the contact nodes of one body: the forces on its nodes by the parts of their areas that face the other
/// body; these quotients are as smooth as those of one body, and recovered alike. Zero at unloaded nodes.
/// @param axes  [-] rotates from A to the axes of the body, with the sign of the other body's outward normals
Eigen::MatrixXd pressure_of_body(const InterfaceContact& contact, const WeightedNodes& on_body,
                                 const PressureRecovery& recovery, const Matrix3& axes, const Eigen::MatrixXd& forces) {
  const std::size_t n_nodes = recovery.n_nodes();
  const std::vector<double> areas = facing_areas(on_body, contact.areas, n_nodes);
  Eigen::MatrixXd on_nodes = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(n_nodes), forces.cols());
  std::vector<Vector3> normals(n_nodes, Vector3::Zero());
  for (std::size_t a = 0; a < contact.touching.size(); ++a) {
    const auto row = static_cast<Eigen::Index>(a);
    for (const auto& [node, weight] : on_body.at(contact.touching[a])) {
      on_nodes.row(node) += weight * forces.row(row);
      normals[node] += weight * forces(row, 0) * contact.normals[contact.touching[a]];
    }
  }
  std::vector<std::uint32_t> loaded;
  std::vector<Vector3> loaded_normals;
  std::vector<double> loaded_areas;
  for (std::uint32_t node = 0; node < n_nodes; ++node) {
    if (!(on_nodes(node, 0) > 0.0)) continue;
    loaded.push_back(node);
    loaded_normals.push_back(axes * normals[node].normalized());
    loaded_areas.push_back(areas[node]);
  }
  const Eigen::MatrixXd loads = on_nodes(loaded, Eigen::all);
  on_nodes(loaded, Eigen::all) = recovery.recover(loaded, loaded_normals, loads, loaded_areas).at_contact_nodes;
  return on_nodes;
}

/// Mean over a function of a pressure at the nodes of a body. A clamped corner of B has no pressure of its own.
Eigen::RowVectorXd mean_over_function(const WeightedNodes& on_body, std::uint32_t function,
                                      const Eigen::MatrixXd& pressure) {
  Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(pressure.cols());
  double weights = 0.0;
  for (const auto& [node, weight] : on_body.at(function)) {
    sum += weight * pressure.row(node);
    weights += weight;
  }
  return weights > 0.0 ? Eigen::RowVectorXd(sum / weights) : sum;
}

/// The means over the functions, distributed to the nodes of A; the force is kept.
/// @param areas  [m^2] of the nodes of A
Eigen::MatrixXd mean_over_functions(const InterfaceContact& contact, const WeightedNodes& on_body,
                                    std::span<const double> areas, const Eigen::MatrixXd& pressure) {
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(areas.size()), pressure.cols());
  for (std::uint32_t i = 0; i < contact.areas.size(); ++i) {
    const Eigen::RowVectorXd mean = mean_over_function(on_body, i, pressure);
    for (const auto& [node, weight] : contact.on_A->at(i)) {
      result.row(node) += weight * contact.areas[i] / areas[node] * mean;
    }
  }
  return result;
}

}  // namespace

NodalPressure interface_pressure(const InterfaceContact& contact, const Eigen::MatrixXd& forces) {
  // The mesh of a body distorts the pressure in proportion to the deformation of the body: B's counts fully from equal
  // parts on.
  const double of_B = std::clamp(2.0 * contact.partner_work, 0.0, 1.0);
  const std::size_t n_nodes = contact.recovery_A->n_nodes();
  const std::vector<double> areas = facing_areas(*contact.on_A, contact.areas, n_nodes);
  const Eigen::MatrixXd pressure_A =
      pressure_of_body(contact, *contact.on_A, *contact.recovery_A, Matrix3::Identity(), forces);
  const Eigen::MatrixXd pressure_B =
      pressure_of_body(contact, *contact.on_B, *contact.recovery_B, -contact.R_AB.transpose(), forces);
  // The mean S lowers a peak; one step of p + S_B - S p from p = S_B leaves the square of that.
  const Eigen::MatrixXd mean = mean_over_functions(contact, *contact.on_B, areas, pressure_B);
  const Eigen::MatrixXd mean_of_mean = mean_over_functions(contact, *contact.on_A, areas, mean);
  const Eigen::MatrixXd values = (1.0 - of_B) * pressure_A + of_B * (2.0 * mean - mean_of_mean);
  std::vector<Vector3> normals(n_nodes, Vector3::Zero());
  for (std::uint32_t i = 0; i < contact.areas.size(); ++i) {
    for (const auto& [node, weight] : contact.on_A->at(i)) {
      normals[node] += weight * contact.areas[i] * contact.normals[i];
    }
  }
  NodalPressure result;
  for (std::uint32_t node = 0; node < n_nodes; ++node) {
    if (!(values(node, 0) > 0.0)) continue;
    result.nodes.push_back(node);
    result.normals.push_back(normals[node].normalized());
    result.covered.push_back(areas[node]);
  }
  result.values = values(result.nodes, Eigen::all);
  return result;
}

Response interface_response(const ContactSolution& solved, const InterfaceContact& contact,
                            const ContactOptions& options, std::span<const ContactRegion> regions,
                            const std::optional<double>& approach_velocity, const PairState& state) {
  // The functions of an interface are no nodes of the surface: forces by areas, until the pressure is recovered below.
  static const PressureRecovery empty_recovery;
  Response response = solved_response(solved, options, empty_recovery, regions, approach_velocity, state);
  if (solved.nodes.empty()) return response;
  std::vector<double> normal_forces = hysteresis_factors(solved, options, approach_velocity, state);
  for (std::size_t i = 0; i < normal_forces.size(); ++i) normal_forces[i] *= solved.nodes[i].lambda;
  const NodalPressure pressure = interface_pressure(
      contact,
      Eigen::Map<const Eigen::VectorXd>(normal_forces.data(), static_cast<Eigen::Index>(normal_forces.size())));
  response.area = interface_area(contact);
  response.peak_pressure = pressure.values.size() > 0 ? pressure.values.maxCoeff() : 0.0;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const std::vector<double>& shares = regions[r].shares;
    RegionLoad& load = response.regions[r];
    load.area = interface_area(contact, shares);
    load.peak_pressure = 0.0;
    for (std::size_t k = 0; k < pressure.nodes.size(); ++k) {
      if (!(shares[pressure.nodes[k]] > 0.0)) continue;
      load.peak_pressure = std::max(load.peak_pressure, pressure.values(static_cast<Eigen::Index>(k), 0));
    }
  }
  return response;
}

}  // namespace heelstrike::fem
