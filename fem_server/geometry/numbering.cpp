#include "fem_server/geometry/numbering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heelstrike::fem {

namespace {

/// Among the three axes, projected normal to `direction`, the one with the longest extent of the body.
Vector3 max_extent_across(const VolumeMesh& mesh, const Vector3& direction) {
  Vector3 best = Vector3::Zero();
  double longest = -1.0;
  for (Eigen::Index k = 0; k < 3; ++k) {
    const Vector3 across = Vector3::Unit(k) - direction[k] * direction;
    if (across.norm() < 0.5) continue;  // at least two of the three are longer
    const Vector3 axis = across.normalized();
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Vector3& p : mesh.nodes) {
      low = std::min(low, axis.dot(p));
      high = std::max(high, axis.dot(p));
    }
    // Strict comparison: among equal extents the first axis is kept, so that the order does not depend on rounding.
    if (high - low <= longest) continue;
    longest = high - low;
    best = axis;
  }
  return best;
}

}  // namespace

void number_from(VolumeMesh& mesh, const Vector3& direction, double layer) {
  if (mesh.nodes.empty()) return;
  const Vector3 out = direction.normalized();
  const Vector3 along = max_extent_across(mesh, out);
  double outermost = -std::numeric_limits<double>::infinity();
  for (const Vector3& p : mesh.nodes) outermost = std::max(outermost, out.dot(p));
  const auto layer_of = [&](std::uint32_t node) { return std::floor((outermost - out.dot(mesh.nodes[node])) / layer); };
  std::vector<std::uint32_t> order(mesh.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const double layer_a = layer_of(a);
    const double layer_b = layer_of(b);
    if (layer_a != layer_b) return layer_a < layer_b;
    const double along_a = along.dot(mesh.nodes[a]);
    const double along_b = along.dot(mesh.nodes[b]);
    // Ties are resolved by the old number for reproducibility.
    return along_a != along_b ? along_a < along_b : a < b;
  });
  std::vector<std::uint32_t> number(order.size());
  std::vector<Vector3> nodes;
  nodes.reserve(order.size());
  for (std::uint32_t n = 0; n < order.size(); ++n) {
    number[order[n]] = n;
    nodes.push_back(mesh.nodes[order[n]]);
  }
  mesh.nodes = std::move(nodes);
  for (std::uint32_t& node : mesh.connectivity) node = number[node];
  for (auto& [name, members] : mesh.node_sets) {
    for (std::uint32_t& node : members) node = number[node];
    std::ranges::sort(members);
  }
}

}  // namespace heelstrike::fem
