/// The linear systems of Newton's method for a whole body, clamped or in free flight.
///
///     clamped          K u = r on the free dofs
///     inertia relief   K u + B a = r,  R^T M u = 0,   B = M R (R^T M R)^-1
///
/// with the six rigid motions R and the generalised inertia load a that balances r. The second system is solved with
/// the factor of K + s E E^T, springs s at six isostatic dofs E, and a correction of rank twelve.
///
/// Of a layer over a condensed interior R and B are those of the layer's dofs, K holds the interior's stiffness, and
/// its inertia enters as B^T u = D a.
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

/// [m] by which rounding moves the displacements of a body.
[[nodiscard]] double rounding_of(const BodyModel& body);

/// Not thread-safe.
class BodySystem {
 public:
  /// @param graph     of all matrices that will be factorised
  /// @param interior  behind the body, which then is a layer; null = none
  /// @throws Error{invalid_input} without any support, or without mass in free flight
  BodySystem(const BodyModel& body, const Support& support, const NodeGraph& graph,
             const CondensedInterior* interior = nullptr);

  /// Of the factorisation. Exact once the order of its entries is known, by analyse(): all that is large comes after
  /// it.
  [[nodiscard]] FactorSize size() const { return factor_ ? factor_->size() : order_->size(); }

  /// Without numbers: called by the first factorize() when it has not been called.
  void analyse(const SparseMatrix& K);
  /// @param K  symmetric, with the pattern of the graph; springs are put on its diagonal and taken off again
  /// @return false when it is not positive definite
  [[nodiscard]] bool factorize(SparseMatrix& K);
  /// Displacements [m], n_dofs x n; fixed dofs are zero.
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const;
  /// Change of the displacement `u` by which K u' + B a = rhs + K u and B^T u' = D a: unlike solve() it needs no u that
  /// fulfils the latter for the loads so far.
  [[nodiscard]] Eigen::VectorXd step(const Eigen::VectorXd& rhs, const Eigen::VectorXd& u) const;
  /// Of some nodes, ascending.
  [[nodiscard]] SurfaceCompliance compliance(std::span<const std::uint32_t> nodes) const;
  /// What of a load [N] deforms the body: without fixed dofs, or balanced by the inertia of the motion it causes.
  [[nodiscard]] Eigen::MatrixXd effective(Eigen::MatrixXd load) const;
  /// [J] in the interior by its inertia forces. @param load  [N] contact forces, n_dofs
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
  std::optional<Elimination> order_;              ///< until there is a factor
  std::optional<SparseCholesky> factor_;
  double spring_ = 0.0;         ///< [N/m] s
  Eigen::MatrixXd correction_;  ///< displacements by the springs' forces and by - B, twelve columns
  Eigen::FullPivLU<Eigen::MatrixXd> border_;
};

}  // namespace heelstrike::fem
