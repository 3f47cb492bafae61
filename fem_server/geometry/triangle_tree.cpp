#include "fem_server/geometry/triangle_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Smaller leaves would double the number of boxes to save few triangle tests.
constexpr std::size_t leaf_size = 8;
/// Every node has half of the triangles of its parent, with 32-bit indices: this bounds the depth, and a descent leaves
/// one pending sibling per level.
constexpr std::size_t max_pending = 33;
/// Squared distances to a box and to its content round differently; a box is pruned only if it is farther by this
/// factor, so that the result does not depend on the start of the search.
constexpr double box_margin = 1.0 + 1e-12;
/// [-] tolerance, relative to the triangle size, so that lines through an edge intersect at least one of its triangles.
constexpr double edge_margin = 1e-10;

/// A fixed-size stack that does not allocate.
class PendingNodes {
 public:
  void push(std::uint32_t node) { nodes_[size_++] = node; }
  std::uint32_t pop() { return nodes_[--size_]; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  std::array<std::uint32_t, max_pending> nodes_;
  std::size_t size_ = 0;
};

}  // namespace

bool TriangleTree::Box::overlaps(const Box& other) const {
  return (low.array() <= other.high.array()).all() && (other.low.array() <= high.array()).all();
}

double TriangleTree::Box::squared_distance(const Vector3& q) const {
  return (q - q.cwiseMax(low).cwiseMin(high)).squaredNorm();
}

TriangleTree::TriangleTree(const SurfaceMesh& mesh) : mesh_(mesh), order_(mesh.triangles.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
  nodes_.reserve(mesh.triangles.size() / 2 + 1);
  build(0, order_.size());
  corners_.reserve(order_.size());
  for (const std::uint32_t t : order_) {
    const Triangle& corners = mesh.triangles[t];
    corners_.push_back({mesh.vertices[corners[0]], mesh.vertices[corners[1]], mesh.vertices[corners[2]]});
  }
  const Box& all = nodes_.front().box;
  rounding_ = 1e-12 * std::max(all.low.cwiseAbs().maxCoeff(), all.high.cwiseAbs().maxCoeff());
}

TriangleTree::Box TriangleTree::triangle_box(std::uint32_t triangle) const {
  const Triangle& corners = mesh_.triangles[triangle];
  const Vector3& a = mesh_.vertices[corners[0]];
  const Vector3& b = mesh_.vertices[corners[1]];
  const Vector3& c = mesh_.vertices[corners[2]];
  return {a.cwiseMin(b).cwiseMin(c), a.cwiseMax(b).cwiseMax(c)};
}

std::uint32_t TriangleTree::build(std::size_t begin, std::size_t end) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  Box box = triangle_box(order_[begin]);
  for (std::size_t i = begin + 1; i < end; ++i) {
    const Box next = triangle_box(order_[i]);
    box = {box.low.cwiseMin(next.low), box.high.cwiseMax(next.high)};
  }
  nodes_[index].box = box;
  if (end - begin <= leaf_size) {
    nodes_[index].first = static_cast<std::uint32_t>(begin);
    nodes_[index].count = static_cast<std::uint32_t>(end - begin);
    return index;
  }
  Eigen::Index axis = 0;
  // Splitting the longest side keeps boxes compact, which prunes distant ones early.
  (box.high - box.low).maxCoeff(&axis);
  const auto center = [&](std::uint32_t t) {
    const Box b = triangle_box(t);
    // Twice the box centre; only the order matters.
    return b.low[axis] + b.high[axis];
  };
  // Equal halves keep the depth logarithmic for any input; the index breaks ties, so that the tree is reproducible.
  const std::size_t middle = begin + (end - begin) / 2;
  std::nth_element(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                   order_.begin() + static_cast<std::ptrdiff_t>(middle),
                   order_.begin() + static_cast<std::ptrdiff_t>(end),
                   [&](std::uint32_t s, std::uint32_t t) { return std::pair(center(s), s) < std::pair(center(t), t); });
  const std::uint32_t left = build(begin, middle);
  const std::uint32_t right = build(middle, end);
  nodes_[index].first = left;
  nodes_[index].right = right;
  return index;
}

ClosestPoint TriangleTree::closest(const Vector3& q) const {
  return closest(q, order_.front());
}

ClosestPoint TriangleTree::closest(const Vector3& q, std::uint32_t near) const {
  struct PendingNode {
    std::uint32_t node;
    double squared;  // squared distance to its box
  };
  ClosestPoint best;
  double best_squared = std::numeric_limits<double>::infinity();
  const auto visit = [&](std::uint32_t t, const std::array<Vector3, 3>& corners) {
    const Vector3 point = closest_on_triangle(q, corners[0], corners[1], corners[2]);
    const double squared = (q - point).squaredNorm();
    if (squared < best_squared || (squared == best_squared && t < best.triangle)) {
      best_squared = squared;
      best = {point, 0.0, t};
    }
  };
  const Triangle& first = mesh_.triangles[near];
  visit(near, {mesh_.vertices[first[0]], mesh_.vertices[first[1]], mesh_.vertices[first[2]]});
  std::array<PendingNode, max_pending> stack;
  std::size_t n_waiting = 0;
  stack[n_waiting++] = {0, nodes_.front().box.squared_distance(q)};
  while (n_waiting > 0) {
    const PendingNode next = stack[--n_waiting];
    // Equal distances are visited too: the smaller index must win for any visiting order.
    if (next.squared > best_squared * box_margin) continue;
    const Node& node = nodes_[next.node];
    if (node.count == 0) {
      // The closer child first: its result usually prunes the other one.
      const PendingNode left{node.first, nodes_[node.first].box.squared_distance(q)};
      const PendingNode right{node.right, nodes_[node.right].box.squared_distance(q)};
      const bool left_first = left.squared <= right.squared;
      stack[n_waiting++] = left_first ? right : left;
      stack[n_waiting++] = left_first ? left : right;
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) visit(order_[i], corners_[i]);
  }
  best.distance = std::sqrt(best_squared);
  return best;
}

double TriangleTree::distance_to_box(const Vector3& q) const {
  return std::sqrt(nodes_.front().box.squared_distance(q));
}

std::optional<double> TriangleTree::distance_through(std::uint32_t t, const Vector3& origin, const Vector3& direction,
                                                     double reach, bool leaving) const {
  const Triangle& corners = mesh_.triangles[t];
  const Vector3 a = mesh_.vertices[corners[0]] - origin;
  const Vector3 b = mesh_.vertices[corners[1]] - origin;
  const Vector3 c = mesh_.vertices[corners[2]] - origin;
  const Vector3 cross = (b - a).cross(c - a);
  const double through = cross.dot(direction);
  if (leaving ? !(through > 0.0) : !(through < 0.0)) return std::nullopt;
  // Volumes spanned by the line and the edges, in units of the triangle area projected along the line.
  const double margin = -edge_margin;
  if (direction.dot(b.cross(c)) / through < margin || direction.dot(c.cross(a)) / through < margin ||
      direction.dot(a.cross(b)) / through < margin) {
    return std::nullopt;
  }
  const double ray_distance = cross.dot(a) / through;
  if (!(ray_distance >= 0.0 && ray_distance <= reach)) return std::nullopt;
  return ray_distance;
}

std::optional<RayCrossing> TriangleTree::crossing(const Vector3& origin, const Vector3& direction, double reach,
                                                  bool leaving, std::uint32_t near) const {
  std::optional<RayCrossing> best;
  const auto visit = [&](std::uint32_t t) {
    const auto ray_distance = distance_through(t, origin, direction, best ? best->ray_distance : reach, leaving);
    if (ray_distance && (!best || *ray_distance < best->ray_distance || t < best->triangle))
      best = {.ray_distance = *ray_distance, .triangle = t};
  };
  visit(near);
  Vector3 inverse;
  for (Eigen::Index k = 0; k < 3; ++k) {  // finite, because its product with 0 must be 0
    inverse[k] = 1.0 / (std::abs(direction[k]) > 1e-150 ? direction[k] : std::copysign(1e-150, direction[k]));
  }
  const auto intersects = [&](const Box& box) {
    // The box is enlarged by the rounding bound for either direction of the line.
    const Vector3 one = (box.low - origin).array() * inverse.array() - rounding_ * inverse.array();
    const Vector3 other = (box.high - origin).array() * inverse.array() + rounding_ * inverse.array();
    const double enter = one.cwiseMin(other).maxCoeff();
    const double leave = one.cwiseMax(other).minCoeff();
    return enter <= leave && leave >= 0.0 && enter <= (best ? best->ray_distance : reach);
  };
  PendingNodes visits;
  visits.push(0);
  while (!visits.empty()) {
    const Node& node = nodes_[visits.pop()];
    if (!intersects(node.box)) continue;
    if (node.count == 0) {
      visits.push(node.right);
      visits.push(node.first);
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
  }
  return best;
}

void TriangleTree::for_overlapping(const Vector3& low, const Vector3& high,
                                   const std::function<void(std::uint32_t)>& visit) const {
  const Box box{low, high};
  PendingNodes visits;
  visits.push(0);
  while (!visits.empty()) {
    const Node& node = nodes_[visits.pop()];
    if (!node.box.overlaps(box)) continue;
    if (node.count == 0) {
      visits.push(node.right);
      visits.push(node.first);
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      const auto& [a, b, c] = corners_[i];
      if (Box{a.cwiseMin(b).cwiseMin(c), a.cwiseMax(b).cwiseMax(c)}.overlaps(box)) visit(order_[i]);
    }
  }
}

std::vector<std::uint32_t> TriangleTree::overlapping(const Vector3& low, const Vector3& high) const {
  std::vector<std::uint32_t> found;
  for_overlapping(low, high, [&](std::uint32_t t) { found.push_back(t); });
  std::ranges::sort(found);
  return found;
}

void TriangleTree::for_overlapping_pairs(const std::function<bool(std::uint32_t, std::uint32_t)>& visit) const {
  for (std::uint32_t s = 0; s < mesh_.triangles.size(); ++s) {
    const Box box = triangle_box(s);
    for (const std::uint32_t t : overlapping(box.low, box.high)) {
      if (t > s && !visit(s, t)) return;
    }
  }
}

Vector3 closest_on_triangle(const Vector3& q, const Vector3& a, const Vector3& b, const Vector3& c) {
  const Vector3 ab = b - a;
  const Vector3 ac = c - a;
  const Vector3 aq = q - a;
  // Voronoi regions of corners, edges and face; va, vb, vc are barycentric coordinates times the squared cross product.
  const double d1 = ab.dot(aq);
  const double d2 = ac.dot(aq);
  if (d1 <= 0.0 && d2 <= 0.0) return a;
  const Vector3 bq = q - b;
  const double d3 = ab.dot(bq);
  const double d4 = ac.dot(bq);
  if (d3 >= 0.0 && d4 <= d3) return b;
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) return d1 == d3 ? a : Vector3(a + d1 / (d1 - d3) * ab);
  const Vector3 cq = q - c;
  const double d5 = ab.dot(cq);
  const double d6 = ac.dot(cq);
  if (d6 >= 0.0 && d5 <= d6) return c;
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) return d2 == d6 ? a : Vector3(a + d2 / (d2 - d6) * ac);
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0) {
    const double sum = (d4 - d3) + (d5 - d6);
    return sum == 0.0 ? b : Vector3(b + (d4 - d3) / sum * (c - b));
  }
  // Zero only for triangles without area, which an edge region catches except for rounding; valid surfaces have none.
  const double sum = va + vb + vc;
  return a + vb / sum * ab + vc / sum * ac;
}

FarthestPoint find_farthest_point(const SurfaceMesh& from, const TriangleTree& to) {
  FarthestPoint farthest;
  const auto consider = [&](const Vector3& point) {
    const double distance = to.closest(point).distance;
    if (distance > farthest.distance) farthest = {.distance = distance, .point = point};
  };
  for (const Vector3& vertex : from.vertices) consider(vertex);
  for (const Triangle& t : from.triangles) {
    consider((from.vertices[t[0]] + from.vertices[t[1]] + from.vertices[t[2]]) / 3.0);
  }
  return farthest;
}

}  // namespace heelstrike::fem
