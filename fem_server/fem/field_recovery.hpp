/// Recovery of the condensed displacements of the whole body from contact node forces, for field output.
///
/// Stresses for visualisation: volume-weighted means of the adjacent elements at nodes, and element values.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"

namespace heelstrike::fem {

/// Solves K u = f on the same mesh, support and frame as the condensation, so that u agrees with the compliance at its
/// nodes to rounding. The factorisation is deferred to the first call, so that runs without field output do not pay for
/// it. Thread-safe.
class DisplacementRecovery {
 public:
  /// @param body  outlives this object
  DisplacementRecovery(const BodyModel& body, Support support);

  /// @param forces  [N] n_dofs(); those on clamped nodes are carried by the support
  /// @return [m] n_dofs()
  [[nodiscard]] Eigen::VectorXd displacement(const Eigen::VectorXd& forces) const;

 private:
  void factorize() const;

  const BodyModel& body_;
  Support support_;
  mutable std::mutex mutex_;  ///< guards the members below; a factor has internal workspace for solving
  mutable std::unique_ptr<SparseCholesky> factor_;
  mutable Eigen::MatrixXd modes_;       ///< R, with inertia relief
  mutable Eigen::MatrixXd mass_modes_;  ///< M R (R^T M R)^-1
};

struct NodalStress {
  std::vector<double> von_mises;  ///< [Pa] per node
  std::vector<double> principal;  ///< [Pa] 3 per node: largest, middle, smallest
};

/// Invariants of the mean stress tensor around each node.
/// @param stress  [Pa] xx yy zz xy yz zx at the quadrature points, as linear_stress returns it
[[nodiscard]] NodalStress nodal_stress(const BodyModel& body, const StressColumns& stress);

/// [Pa] von Mises stress of the mean stress tensor of each element, not averaged with neighbours.
/// @param stress  as for nodal_stress
[[nodiscard]] std::vector<double> element_von_mises(const BodyModel& body, const StressColumns& stress);

}  // namespace heelstrike::fem
