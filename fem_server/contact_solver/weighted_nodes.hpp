/// Contact points between the nodes of a body: weighted sums of nodes, and their compliance.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// For each point, the contact nodes of one body that it moves with, and their weights. The force on a point is
/// distributed to the nodes with the same weights.
class WeightedNodes {
 public:
  using Entry = std::pair<std::uint32_t, double>;  ///< (contact node, weight)

  /// @param entries  node numbers ascending
  void add_place(std::span<const Entry> entries);
  [[nodiscard]] std::size_t n_places() const { return ends_.size(); }
  [[nodiscard]] std::span<const Entry> at(std::size_t place) const;

  /// Ascending.
  [[nodiscard]] std::vector<std::uint32_t> used_nodes() const;
  /// The same points, with node numbers relative to a subset. @param nodes  ascending, all used nodes
  [[nodiscard]] WeightedNodes among(std::span<const std::uint32_t> nodes) const;

  /// Forces on all nodes from forces on some points.
  /// @param places  their numbers; `forces` has one entry for each
  [[nodiscard]] std::vector<Vector3> distributed(std::span<const std::uint32_t> places, std::span<const Vector3> forces,
                                                 std::size_t n_nodes) const;

 private:
  std::vector<Entry> entries_;
  std::vector<std::size_t> ends_;
};

/// W C W^T: displacements of the points by forces on the points.
/// @param R  rotates the compliance to the axes of the result
[[nodiscard]] SurfaceCompliance weighted(const SurfaceCompliance& compliance, const WeightedNodes& W,
                                         const Matrix3& R = Matrix3::Identity());

/// @pre equal numbers of nodes
[[nodiscard]] SurfaceCompliance sum(const SurfaceCompliance& a, const SurfaceCompliance& b);

}  // namespace heelstrike::fem
