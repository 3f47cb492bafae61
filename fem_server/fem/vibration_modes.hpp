/// Vibration modes of a supported linear elastic body.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <stop_token>

#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

struct VibrationModes {
  Eigen::VectorXd frequencies;  ///< [rad/s] > 0, ascending
  Eigen::MatrixXd shapes;       ///< [1/sqrt(kg)] n_dofs rows; phi_j . M phi_k = 1 where j = k, else 0
};

/// The lowest modes, K phi = omega^2 M phi, with the consistent mass: of the clamped body, or of the free body without
/// rigid motions, whose modes leave its mean (Tisserand) frame at rest. Shift-invert by the sparse Cholesky factor,
/// Lanczos iterations by ARPACK [lehoucq1998]. For preparation only.
/// @param n_modes  >= 1
/// @throws Error{invalid_input} zero mass; more modes than half of the unknowns; a clamp that leaves a rigid motion
///         free
/// @throws Error{cancelled}      `stop` was requested
/// @throws Error{limit}          as condense
[[nodiscard]] VibrationModes vibration_modes(const BodyModel& body, const Support& support, std::size_t n_modes,
                                             const std::stop_token& stop, const MemoryLimit& limit = {});

}  // namespace heelstrike::fem
