/// Deformable partner: its surface, and its compliance at points on it.
///
/// A contact point moves with some contact nodes of B, u_B(i) = sum_k w_ik u_k, and the force - f_i on it is
/// distributed to them with the same weights. The displacement of A relative to B is
///
///     u_A,i - R_AB u_B(i) = sum_j (C_A,ij + R_AB (W C_B W^T)_ij R_AB^T) f_j
///
/// so that the compliances add and one solver treats both. The weights result from BodyInterface for the surface of
/// another body, and from weights_at for single points.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fem_server/contact_solver/contact_surface.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

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

/// Points on B, and whether B's displacement is known there.
struct PartnerPoints {
  WeightedNodes nodes;
  std::vector<bool> outside;  ///< per point: on a part of B without contact nodes
};

/// Thread-safe.
class DeformablePartner {
 public:
  /// @param surface     the whole boundary of B
  /// @param compliance  of its contact nodes; none if only the surface is used
  DeformablePartner(ContactSurface surface, SurfaceCompliance compliance);
  DeformablePartner(const DeformablePartner&) = delete;
  DeformablePartner& operator=(const DeformablePartner&) = delete;

  [[nodiscard]] const ContactSurface& surface() const { return surface_; }
  [[nodiscard]] const TriangleTree& tree() const { return tree_; }
  [[nodiscard]] const SurfaceCompliance& compliance() const { return compliance_; }

  /// Points of the surface nearest to `points` [m].
  [[nodiscard]] PartnerPoints weights_at(const Pose& X_AB, std::span<const Vector3> p_AQs) const;

 private:
  ContactSurface surface_;
  TriangleTree tree_;
  SurfaceCompliance compliance_;
};

/// Converts weights of the corners of a triangle to those of contact nodes, added in any order.
/// @return the part of the weights on corners with an unknown displacement
double add_weights(const ContactTriangle& triangle, const Vector3& weights, std::vector<WeightedNodes::Entry>& entries);

/// Sums entries of the same node; ascending.
void merge_entries(std::vector<WeightedNodes::Entry>& entries);

}  // namespace heelstrike::fem
