/// Binary tree of spatial clusters of points: each node halves its points along the longest edge of their bounding box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::fem {

/// Points `begin` to `end` - 1 in the order of the tree.
struct Cluster {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t first_child = 0;    ///< the second one follows; 0 = leaf
  Vector3 lower = Vector3::Zero();  ///< [m] bounding box
  Vector3 upper = Vector3::Zero();  ///< [m]

  [[nodiscard]] bool is_leaf() const { return first_child == 0; }
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
  [[nodiscard]] double diameter() const { return (upper - lower).norm(); }
};

/// [m] distance of the bounding boxes.
[[nodiscard]] double distance(const Cluster& a, const Cluster& b);

struct ClusterTree {
  std::vector<Cluster> clusters;      ///< the root first, parents before their children; empty without points
  std::vector<std::uint32_t> order;   ///< point at each place of the tree's order
  std::vector<std::uint32_t> place;   ///< its inverse
  std::vector<std::uint32_t> leaves;  ///< clusters, by ascending points
};

/// @param max_leaf  points of a leaf, > 0
[[nodiscard]] ClusterTree make_cluster_tree(std::span<const Vector3> points, std::uint32_t max_leaf);

}  // namespace heelstrike::fem
