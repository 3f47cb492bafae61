/// The Newton matrix of frictional contact and its approximate inverse.
///
/// In local axes (normal, two tangents) of the active nodes the matrix is
///
///     J = S B + E,      B = F^T C F
///
/// with F the local frames and, per node, 3x3 matrices S and E: identity and zero where it sticks, the derivative of
/// the projection on the friction disc where it slides. Systems are solved by GMRES [saad1986] with the LU factors of a
/// reference matrix of the same form. The local axes are fixed in B, so a reference of an earlier pose stays good.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fem_server/backends/fem_condensed/gathered_block.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// What J of one node is made of.
struct NodeLinearisation {
  Matrix3 frame = Matrix3::Identity();  ///< columns normal, tangent 1, tangent 2, in A
  Matrix3 S = Matrix3::Identity();      ///< [-]
  Matrix3 E = Matrix3::Zero();          ///< [m/N]
};

/// [m/N] B = F^T C F. @param C  blocks of the same nodes in A's axes
[[nodiscard]] Eigen::MatrixXd local_compliance(std::span<const NodeLinearisation> nodes, const BlockPart& C);

/// A factored J. Equal content gives equal bits, so it may be kept, shared, or rebuilt from saved bytes.
class FrictionReference {
 public:
  /// @param candidates  ascending. @param C  their blocks in A's axes
  /// @throws RecoverableError when J is singular
  FrictionReference(std::vector<std::uint32_t> candidates, std::vector<NodeLinearisation> nodes, const BlockPart& C);

  [[nodiscard]] const std::vector<std::uint32_t>& candidates() const { return candidates_; }
  [[nodiscard]] const std::vector<NodeLinearisation>& nodes() const { return nodes_; }
  [[nodiscard]] const SingleLu& factor() const { return factor_; }

 private:
  std::vector<std::uint32_t> candidates_;
  std::vector<NodeLinearisation> nodes_;
  SingleLu factor_;
};

/// J of the present iterate with a preconditioner.
class FrictionSystem {
 public:
  /// @param C          blocks among the active nodes, in A's axes
  /// @param reference  may be null
  FrictionSystem(BlockPart C, std::vector<std::uint32_t> candidates, std::vector<NodeLinearisation> nodes,
                 std::shared_ptr<const FrictionReference> reference);

  /// Solves J x = rhs column by column to `tolerance` relative to each; factors J anew when the reference is missing or
  /// too far away.
  /// @throws RecoverableError when J is singular
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs, double tolerance);

  /// The reference in use: the given one or that of this J.
  [[nodiscard]] const std::shared_ptr<const FrictionReference>& reference() const { return reference_; }
  [[nodiscard]] int iterations() const { return iterations_; }
  [[nodiscard]] const std::vector<NodeLinearisation>& nodes() const { return nodes_; }
  [[nodiscard]] const BlockPart& compliance() const { return C_; }
  /// A reference at this very J.
  [[nodiscard]] std::shared_ptr<const FrictionReference> fresh_reference() const;

 private:
  [[nodiscard]] Eigen::MatrixXd apply(const Eigen::MatrixXd& x) const;
  [[nodiscard]] Eigen::MatrixXd precondition(const Eigen::MatrixXd& r) const;
  [[nodiscard]] bool gmres(const Eigen::VectorXd& rhs, double tolerance, Eigen::Index limit,
                           Eigen::Ref<Eigen::VectorXd> x);
  void match_reference();
  void factor_anew();

  BlockPart C_;
  std::vector<std::uint32_t> candidates_;
  std::vector<NodeLinearisation> nodes_;
  std::shared_ptr<const FrictionReference> reference_;
  std::vector<std::int32_t> place_;     ///< of each node in the reference, -1 = not there
  std::vector<Matrix3> local_inverse_;  ///< for nodes that are not there
  bool fresh_ = false;                  ///< the reference is this J
  int iterations_ = 0;
};

}  // namespace heelstrike::fem
