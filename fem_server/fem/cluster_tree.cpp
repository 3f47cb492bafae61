#include "fem_server/fem/cluster_tree.hpp"

#include <algorithm>
#include <numeric>

namespace heelstrike::fem {

namespace {

void find_box(std::span<const Vector3> points, std::span<const std::uint32_t> members, Cluster& cluster) {
  cluster.lower = cluster.upper = points[members.front()];
  for (const std::uint32_t point : members) {
    cluster.lower = cluster.lower.cwiseMin(points[point]);
    cluster.upper = cluster.upper.cwiseMax(points[point]);
  }
}

}  // namespace

double distance(const Cluster& a, const Cluster& b) {
  return (a.lower - b.upper).cwiseMax(b.lower - a.upper).cwiseMax(0.0).norm();
}

ClusterTree make_cluster_tree(std::span<const Vector3> points, std::uint32_t max_leaf) {
  ClusterTree tree;
  tree.order.resize(points.size());
  std::iota(tree.order.begin(), tree.order.end(), 0U);
  if (!points.empty()) tree.clusters.push_back({.end = static_cast<std::uint32_t>(points.size())});
  for (std::size_t c = 0; c < tree.clusters.size(); ++c) {
    Cluster cluster = tree.clusters[c];
    const auto members = std::span(tree.order).subspan(cluster.begin, cluster.size());
    find_box(points, members, cluster);
    if (cluster.size() > max_leaf) {
      Eigen::Index axis = 0;
      (cluster.upper - cluster.lower).maxCoeff(&axis);
      const std::uint32_t middle = cluster.begin + cluster.size() / 2;
      // Points in the same plane are ordered by their numbers, so that the tree does not depend on the library.
      std::ranges::nth_element(members, members.begin() + (middle - cluster.begin), [&](auto a, auto b) {
        return std::pair(points[a][axis], a) < std::pair(points[b][axis], b);
      });
      std::ranges::sort(members.first(middle - cluster.begin));
      std::ranges::sort(members.subspan(middle - cluster.begin));
      cluster.first_child = static_cast<std::uint32_t>(tree.clusters.size());
      tree.clusters.push_back({.begin = cluster.begin, .end = middle});
      tree.clusters.push_back({.begin = middle, .end = cluster.end});
    } else {
      tree.leaves.push_back(static_cast<std::uint32_t>(c));
    }
    tree.clusters[c] = cluster;
  }
  std::ranges::sort(tree.leaves, {}, [&](std::uint32_t leaf) { return tree.clusters[leaf].begin; });
  tree.place.resize(points.size());
  for (std::uint32_t k = 0; k < tree.order.size(); ++k) tree.place[tree.order[k]] = k;
  return tree;
}

}  // namespace heelstrike::fem
