#include "fem_server/geometry/triangle_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace heelstrike::fem {

namespace {

/// Smaller leaves would double the boxes, to spare a few triangles.
constexpr std::size_t leaf_size = 8;
/// Every node has half of its parent's triangles, and those are numbered with 32 bits: no path is longer, and a descent
/// leaves one sibling waiting at each level.
constexpr std::size_t most_waiting = 33;

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
  // Cut across the longest side: boxes stay compact, and far ones are left out early.
  (box.high - box.low).maxCoeff(&axis);
  const auto center = [&](std::uint32_t t) {
    const Box b = triangle_box(t);
    // Twice the middle of the box; only the order matters.
    return b.low[axis] + b.high[axis];
  };
  // Halves of equal size keep the depth logarithmic whatever the input; the index breaks ties, so the tree is the same
  // everywhere.
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
  struct Waiting {
    std::uint32_t node;
    double squared;  // distance to its box
  };
  std::array<Waiting, most_waiting> stack;
  std::size_t n_waiting = 0;
  stack[n_waiting++] = {0, nodes_.front().box.squared_distance(q)};
  ClosestPoint best;
  double best_squared = std::numeric_limits<double>::infinity();
  while (n_waiting > 0) {
    const Waiting next = stack[--n_waiting];
    // Equal distances are looked at too: the smaller index has to win, in whatever order boxes are visited.
    if (next.squared > best_squared) continue;
    const Node& node = nodes_[next.node];
    if (node.count == 0) {
      // The nearer child first: what it finds rules the other one out most of the time.
      const Waiting left{node.first, nodes_[node.first].box.squared_distance(q)};
      const Waiting right{node.right, nodes_[node.right].box.squared_distance(q)};
      const bool left_first = left.squared <= right.squared;
      stack[n_waiting++] = left_first ? right : left;
      stack[n_waiting++] = left_first ? left : right;
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      const std::uint32_t t = order_[i];
      const Triangle& corners = mesh_.triangles[t];
      const Vector3 point =
          closest_on_triangle(q, mesh_.vertices[corners[0]], mesh_.vertices[corners[1]], mesh_.vertices[corners[2]]);
      const double squared = (q - point).squaredNorm();
      if (squared < best_squared || (squared == best_squared && t < best.triangle)) {
        best_squared = squared;
        best = {point, 0.0, t};
      }
    }
  }
  best.distance = std::sqrt(best_squared);
  return best;
}

double TriangleTree::distance_to_box(const Vector3& q) const {
  return std::sqrt(nodes_.front().box.squared_distance(q));
}

std::vector<std::uint32_t> TriangleTree::overlapping(const Vector3& low, const Vector3& high) const {
  const Box box{low, high};
  std::vector<std::uint32_t> found;
  std::vector<std::uint32_t> stack{0};
  while (!stack.empty()) {
    const Node& node = nodes_[stack.back()];
    stack.pop_back();
    if (!node.box.overlaps(box)) continue;
    if (node.count == 0) {
      stack.push_back(node.right);
      stack.push_back(node.first);
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
      if (triangle_box(order_[i]).overlaps(box)) found.push_back(order_[i]);
    }
  }
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
  // Regions of the corners, edges and inside in turn; va, vb, vc are barycentric coordinates times the squared cross
  // product.
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
  // Zero for triangles without area only, which an edge has caught before unless rounding hides them; sound surfaces
  // have none.
  const double sum = va + vb + vc;
  return a + vb / sum * ab + vc / sum * ac;
}

double largest_distance(const SurfaceMesh& from, const TriangleTree& to) {
  double largest = 0.0;
  for (const Vector3& vertex : from.vertices) largest = std::max(largest, to.closest(vertex).distance);
  for (const Triangle& t : from.triangles) {
    const Vector3 centroid = (from.vertices[t[0]] + from.vertices[t[1]] + from.vertices[t[2]]) / 3.0;
    largest = std::max(largest, to.closest(centroid).distance);
  }
  return largest;
}

}  // namespace heelstrike::fem
