/// A partner that deforms as well: its surface, and its compliance seen from places on it.
///
/// A place of the contact moves with some contact nodes of B, u_B(i) = sum_k w_ik u_k, and the force - f_i on it goes
/// to them with the same weights. What the contact sees is the displacement of A relative to B,
///
///     u_A,i - R_AB u_B(i) = sum_j (C_A,ij + R_AB (W C_B W^T)_ij R_AB^T) f_j
///
/// so that the compliances add and one solver does both. Where the weights come from: BodyInterface for the surface of
/// another body, weights_at for single points.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fem_server/contact_solver/contact_surface.hpp"
#include "fem_server/contact_solver/weighted_nodes.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

/// Places on B and whether B's displacement is known there.
struct PartnerPoints {
  WeightedNodes nodes;
  std::vector<bool> outside;  ///< per place: on a part of B that cannot touch
};

/// Thread-safe.
class DeformablePartner {
 public:
  /// @param surface     the whole boundary of B
  /// @param compliance  of its contact nodes; none where the surface alone is asked for
  DeformablePartner(ContactSurface surface, SurfaceCompliance compliance);
  DeformablePartner(const DeformablePartner&) = delete;
  DeformablePartner& operator=(const DeformablePartner&) = delete;

  [[nodiscard]] const ContactSurface& surface() const { return surface_; }
  [[nodiscard]] const TriangleTree& tree() const { return tree_; }
  [[nodiscard]] const SurfaceCompliance& compliance() const { return compliance_; }

  /// Places where points [m] meet the surface: nearest to them.
  [[nodiscard]] PartnerPoints weights_at(const Pose& X_AB, std::span<const Vector3> p_AQs) const;

 private:
  ContactSurface surface_;
  TriangleTree tree_;
  SurfaceCompliance compliance_;
};

/// Weights of the corners of a triangle become those of contact nodes, added in any order.
/// @return the part of the weights that lies on corners whose displacement is not known
double add_weights(const ContactTriangle& triangle, const Vector3& weights, std::vector<WeightedNodes::Entry>& entries);

/// Sums entries of the same node; ascending.
void merge_entries(std::vector<WeightedNodes::Entry>& entries);

}  // namespace heelstrike::fem
