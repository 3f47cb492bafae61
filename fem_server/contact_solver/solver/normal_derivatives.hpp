/// Derivatives of a frictionless contact by the pose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/contact_solver/solver/normal_contact.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

/// d lambda / d X = A^-1 (G - N^T d u / d X at fixed lambda), then d u / d X, or only its effect on the wrench.
/// @param nodes       the active ones
/// @param contact     with its factor
/// @param turned      d u / d X at fixed lambda
/// @param compliance  of the nodes; null = the nodes' d u / d X are not requested
/// @param numbers     of the nodes within it
[[nodiscard]] NodeDerivatives frictionless_derivatives(const std::vector<ContactNodeState>& nodes,
                                                       const NormalContact& contact, const Eigen::MatrixXd& rotated,
                                                       const Vector3& p_AB, const SurfaceCompliance* compliance,
                                                       std::span<const std::uint32_t> numbers);

}  // namespace heelstrike::fem
