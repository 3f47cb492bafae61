/// Displacement of the whole body from forces on its contact nodes: what the condensation has eliminated, for fields.
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

/// Solves K u = f on the same mesh, support and frame as the condensation, so that u agrees with the compliance on its
/// nodes to rounding. The body is factorised at the first call; nothing is paid by who asks for no fields. Thread-safe.
class DisplacementRecovery {
 public:
  /// @param body  outlives this object
  DisplacementRecovery(const BodyModel& body, Support support);

  /// @param forces  [N] n_dofs(); those on clamped nodes are taken by the support
  /// @return [m] n_dofs()
  [[nodiscard]] Eigen::VectorXd displacement(const Eigen::VectorXd& forces) const;

 private:
  void factorize() const;

  const BodyModel& body_;
  Support support_;
  mutable std::mutex mutex_;  ///< guards the rest; a factor has memory of its own for solving
  mutable std::unique_ptr<SparseCholesky> factor_;
  mutable Eigen::MatrixXd modes_;       ///< R, with inertia relief
  mutable Eigen::MatrixXd mass_modes_;  ///< M R (R^T M R)^-1
};

}  // namespace heelstrike::fem
