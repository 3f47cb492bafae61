/// The Newton matrix of frictional contact and its approximate inverse.
///
/// In local axes (normal, two tangents) of the active nodes the matrix is
///
///     J = S B + E,      B = F^T C F
///
/// with F the local frames and, per node, 3x3 matrices S and E: identity and zero if the node sticks, the derivative of
/// the projection on the friction disc if it slides. Systems are solved by generalised conjugate residuals
/// [eisenstat1983] with approximate products. For a higher accuracy, the residual is evaluated with both halves of B
/// and solved for again; beyond single precision the caller corrects with residuals in double. All right-hand sides of
/// one J share the directions. The preconditioner omits the coupling of the three directions in B: normal forces by the
/// Cholesky factor of the normal rows, then tangential ones by a factor for either direction among the sticking nodes,
/// and node by node where they slide.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fem_server/contact_solver/kernels/local_compliance.hpp"
#include "fem_server/contact_solver/solver/committed_friction.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Contribution of one node to J.
struct NodeLinearisation {
  Matrix3 axes = Matrix3::Identity();  ///< of B and the unknowns, in A: normal, two tangents; committed or current ones
  Matrix3 S = Matrix3::Identity();     ///< [-]
  Matrix3 E = Matrix3::Zero();         ///< [m/N]
  bool active = false;                 ///< carries force; otherwise rows and unknowns of the node are omitted
  bool slides = false;                 ///< E is not zero
  [[nodiscard]] bool sticks() const { return active && !slides; }
};

/// Factors for one direction each, reused for the next J while the node set is nearly the same.
class DirectionFactors {
 public:
  /// @param B  all nodes, local axes
  /// @throws RecoverableError when a part of B is not positive definite
  void match(const LocalCompliance& B, const std::vector<NodeLinearisation>& nodes);
  /// x of the requested nodes in `direction` (0 normal, 1 and 2 tangential), from r; both three rows per node.
  void solve(int direction, const Eigen::VectorXd& r, Eigen::VectorXd& x) const;

 private:
  struct Factor {
    std::vector<std::uint32_t> requested;  ///< nodes, ascending
    std::vector<std::uint32_t> members;    ///< of the factor
    std::vector<std::int32_t> place;       ///< of requested nodes in it, -1 = absent
    std::vector<double> own;               ///< [m/N] compliance of the requested nodes
    SingleCholesky cholesky;
  };
  std::array<Factor, 3> factors_;
};

/// J of the current iterate.
class FrictionSystem {
 public:
  /// @param B        in the axes of all nodes; outlives the system, as `factors` does
  /// @param factors  matched to the nodes here
  FrictionSystem(const LocalCompliance& B, std::vector<NodeLinearisation> nodes, DirectionFactors& factors);
  /// With B and the factors of a committed state that has these nodes. @param committed  outlives the system
  FrictionSystem(const CommittedFriction& committed, std::vector<NodeLinearisation> nodes);
  FrictionSystem(const FrictionSystem&) = delete;
  FrictionSystem& operator=(const FrictionSystem&) = delete;

  struct Solution {
    Eigen::MatrixXd x;
    Eigen::MatrixXd Bx;  ///< in single precision
  };
  /// Solves J x = rhs to about `tolerance` relative to each column, at best 1e-5.
  /// @param rhs  three rows per node; those of inactive nodes are not read, their x is zero
  /// @throws RecoverableError when J is singular
  [[nodiscard]] Solution solve(const Eigen::MatrixXd& rhs, double tolerance);

  [[nodiscard]] const std::vector<NodeLinearisation>& nodes() const { return nodes_; }

 private:
  /// J x. @param Bx  B x
  template <class Fields>
  [[nodiscard]] Fields apply(const Fields& x, Fields Bx) const;
  /// As solve, all columns at once, by the inverse alone. @return true if the tolerance was reached
  [[nodiscard]] bool solve_by_inverse(const Eigen::MatrixXd& rhs, double tolerance, Solution& solution) const;
  [[nodiscard]] Eigen::VectorXd precondition(const Eigen::VectorXd& r) const;
  [[nodiscard]] Eigen::VectorXd apply_preconditioner(const Eigen::VectorXd& r) const;
  /// Adds J z, orthogonal to the existing directions. @return true if it is linearly independent of them
  [[nodiscard]] bool add_direction(const Eigen::VectorXd& z);
  /// As solve, up to the accuracy of the products. @param last  maximum number of directions
  /// @return true if converged
  [[nodiscard]] bool solve_by_residuals(const Eigen::VectorXd& rhs, double tolerance, Eigen::Index last,
                                        Eigen::Ref<Eigen::VectorXd> x);
  /// As solve, by repeated solve_by_residuals for the residual.
  [[nodiscard]] bool solve_refined(const Eigen::VectorXd& rhs, double tolerance, Eigen::Ref<Eigen::VectorXd> x);
  [[nodiscard]] bool solve_by_factor(const Eigen::VectorXd& rhs, double tolerance, Eigen::Ref<Eigen::VectorXd> x);

  const LocalCompliance& B_;
  std::vector<NodeLinearisation> nodes_;
  DirectionFactors* factors_ = nullptr;           ///< null = uses those of a committed state
  std::unique_ptr<CommittedInverse> inverse_;     ///< refers to nodes_; null = factors_
  std::vector<Eigen::Matrix2d> sliding_inverse_;  ///< of the tangential rows of sliding nodes
  bool full_precision_ = false;                   // products of directions: the upper halves were insufficient
  // J Z = W R for all directions so far, with these products: W has orthonormal columns, R is upper triangular.
  Eigen::MatrixXd Z_;
  Eigen::MatrixXd W_;
  Eigen::MatrixXd R_;
  Eigen::Index n_directions_ = 0;
};

}  // namespace heelstrike::fem
