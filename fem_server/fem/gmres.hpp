/// Generalised minimal residuals for matrices that are known by their product [saad1986].
#pragma once

#include <Eigen/Core>
#include <functional>

namespace heelstrike::fem {

using LinearMap = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

/// Solves J x = rhs with preconditioning from the right, without restart.
/// @param tolerance   of |rhs - J x| relative to |rhs|
/// @param limit       of steps; each keeps two vectors
/// @param x           in: first guess; out: the solution, or the best found; unchanged where the matrix is singular
/// @param iterations  steps are added to it
/// @return whether the tolerance was reached
[[nodiscard]] bool gmres(const LinearMap& apply, const LinearMap& precondition, const Eigen::VectorXd& rhs,
                         double tolerance, Eigen::Index limit, Eigen::Ref<Eigen::VectorXd> x, int& iterations);

}  // namespace heelstrike::fem
