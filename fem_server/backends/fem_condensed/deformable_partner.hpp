/// A partner that deforms as well: its surface compliance, seen from the contact nodes of the main body.
///
/// A contact node i of A touches a triangle of B's surface; B's displacement there is interpolated from the corners,
/// u_B(i) = sum_k w_ik u_k, and the force - f_i goes to the corners with the same weights. What the contact sees is the
/// displacement of A relative to B,
///
///     u_A,i - R_AB u_B(i) = sum_j (C_A,ij + R_AB (W C_B W^T)_ij R_AB^T) f_j
///
/// so that the compliances add and one solver does both. Linear interpolation, B made of linear tetrahedra.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fem_server/fem/condensation.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/geometry/volume_mesh.hpp"

namespace heelstrike::fem {

/// The share of B in the displacements of some nodes of A, at one pose.
struct PartnerShare {
  SurfaceCompliance compliance;  ///< R_AB W C_B W^T R_AB^T [m/N], A's axes
  std::vector<bool> outside;     ///< per node: it faces a part of B that cannot touch
};

/// Thread-safe.
class DeformablePartner {
 public:
  /// @param boundary    of B's volume mesh
  /// @param clamped     ascending node numbers of B's mesh
  /// @param candidates  ascending; those of `compliance`
  DeformablePartner(Boundary boundary, std::span<const std::uint32_t> clamped, std::vector<std::uint32_t> candidates,
                    SurfaceCompliance compliance);
  DeformablePartner(const DeformablePartner&) = delete;
  DeformablePartner& operator=(const DeformablePartner&) = delete;

  /// @param p_AQs  [m] where nodes of A meet the surface of B: their feet on the undeformed surface
  [[nodiscard]] PartnerShare share(const Pose& X_AB, std::span<const Vector3> p_AQs) const;

  /// Forces on the candidates of B, in B, from forces on nodes of A. @param f_A  [N] on A, in A
  [[nodiscard]] std::vector<Vector3> reactions(const Pose& X_AB, std::span<const Vector3> p_AQs,
                                               std::span<const Vector3> f_A) const;

 private:
  struct Weights {
    std::array<std::uint32_t, 3> corners{};  ///< candidate numbers of B
    std::array<double, 3> values{};          ///< 0 for corners that cannot move
    bool outside = false;
  };
  [[nodiscard]] Weights weights_at(const Vector3& p_BQ) const;

  Boundary boundary_;
  TriangleTree tree_;
  std::vector<std::int64_t> candidate_of_;  ///< of a vertex of the boundary; -1 clamped, -2 neither
  SurfaceCompliance compliance_;
};

/// Sum of the blocks of `body` among `candidates` and of `share`.
[[nodiscard]] SurfaceCompliance added(const SurfaceCompliance& body, std::span<const std::uint32_t> candidates,
                                      const SurfaceCompliance& share);

}  // namespace heelstrike::fem
