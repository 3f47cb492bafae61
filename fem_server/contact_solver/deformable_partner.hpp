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

#include <memory>
#include <span>
#include <vector>

#include "fem_server/contact_solver/contact_surface.hpp"
#include "fem_server/contact_solver/weighted_nodes.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

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
