/// Linear systems of Newton's method for a whole body, clamped or in free flight.
///
///     clamped          K u = r on the free dofs
///     inertia relief   K u + B a = r,  R^T M u = 0,   B = M R (R^T M R)^-1
///
/// with the six rigid motions R and the generalised inertia load a that balances r. The second system is solved with
/// the factor of K + s E E^T, springs s at six isostatic dofs E, and a correction of rank twelve.
///
/// For a layer over a condensed interior, R and B are those of the layer's dofs, K includes the interior's stiffness,
/// and its inertia enters as B^T u = D a.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fem_server/backends/fem_full/condensed_interior.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/rigid_motion.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"

namespace heelstrike::fem {

/// For messages about memory.
inline constexpr const char* full_order_task = "solving this body in all its degrees of freedom";

/// [m] effect of rounding on the displacements of a body.
[[nodiscard]] double rounding_of(const BodyModel& body);

/// Not thread-safe.
class BodySystem {
 public:
  /// @param graph     of all matrices to be factorised
  /// @param interior  behind the body, which is then a layer; null = none
  /// @throws Error{invalid_input} without any support, or without mass in free flight
  BodySystem(const BodyModel& body, const Support& support, const NodeGraph& graph,
             const CondensedInterior* interior = nullptr);

  /// Size of the factorisation. Exact after analyse() has ordered the entries: all large memory is allocated later.
  [[nodiscard]] FactorSize size() const { return factor_ ? factor_->size() : order_->size(); }

  /// Symbolic factorisation: called by the first factorize() if not called before.
  void analyse(const SparseMatrix& K);
  /// @param K  symmetric, with the pattern of the graph; springs are added to its diagonal and removed again
  /// @return false when it is not positive definite
  [[nodiscard]] bool factorize(SparseMatrix& K);
  /// Displacements [m], n_dofs x n; fixed dofs are zero.
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const;
  /// Change of the displacement `u` by which K u' + B a = rhs + K u and B^T u' = D a: unlike for solve(), u need not
  /// satisfy the latter for the previous loads.
  [[nodiscard]] Eigen::VectorXd step(const Eigen::VectorXd& rhs, const Eigen::VectorXd& u) const;
  /// For some nodes, ascending.
  [[nodiscard]] SurfaceCompliance compliance(std::span<const std::uint32_t> nodes) const;
  /// Part of a load [N] that deforms the body: without fixed dofs, or balanced by the inertia of the motion it causes.
  [[nodiscard]] Eigen::MatrixXd effective(Eigen::MatrixXd load) const;
  /// [J] stored in the interior by its inertia forces. @param load  [N] contact forces, n_dofs
  [[nodiscard]] double inertia_energy(const Eigen::VectorXd& load) const;

 private:
  /// With B^T u - D a = `mean`.
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs, const Eigen::MatrixXd& mean) const;
  bool free_flight_;
  Eigen::Index n_dofs_;
  std::vector<std::int64_t> fixed_;
  std::vector<std::int64_t> isostatic_;
  SixColumns modes_;
  SixColumns mass_modes_;                         ///< B
  Matrix6 inertia_compliance_ = Matrix6::Zero();  ///< D
  std::optional<Elimination> order_;              ///< until the factor exists
  std::optional<SparseCholesky> factor_;
  double spring_ = 0.0;         ///< [N/m] s
  Eigen::MatrixXd correction_;  ///< displacements by the springs' forces and by - B, twelve columns
  Eigen::FullPivLU<Eigen::MatrixXd> border_;
};

}  // namespace heelstrike::fem
