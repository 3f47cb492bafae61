/// Matrix-free generalised minimal residual method [saad1986].
#pragma once

#include <Eigen/Core>
#include <functional>

namespace heelstrike::fem {

using LinearMap = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

/// Solves J x = rhs with right preconditioning, without restart.
/// @param tolerance   relative residual |rhs - J x| / |rhs|
/// @param limit       maximum number of iterations; each stores two vectors
/// @param x           in: initial guess; out: the solution or the best iterate; unchanged for a singular matrix
/// @param iterations  incremented by the number of iterations
/// @return whether the tolerance was reached
[[nodiscard]] bool gmres(const LinearMap& apply, const LinearMap& precondition, const Eigen::VectorXd& rhs,
                         double tolerance, Eigen::Index limit, Eigen::Ref<Eigen::VectorXd> x, int& iterations);

}  // namespace heelstrike::fem
