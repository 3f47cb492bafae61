/// Contact with Coulomb friction of a linear body, incremental in the slip since the last commit:
///
///     lambda >= 0,  gamma >= 0,  lambda gamma = 0
///     |tau| <= mu lambda,   w = 0 where |tau| < mu lambda,   tau = - mu lambda w / |w| where it slides
///
/// solved by a semismooth Newton method on the projection equations [alart1991]: normal rows by active set, tangential
/// rows tau = proj(tau - rho w) on the disc of radius mu lambda.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "fem_server/backends/fem_condensed/contact_wrench.hpp"
#include "fem_server/backends/fem_condensed/normal_contact.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/dense_kernels.hpp"

namespace heelstrike::fem {

/// Where a node would stick, and how that point of B moves with the pose.
struct Anchor {
  Vector3 p_AP = Vector3::Zero();     ///< [m] the point in A
  Matrix36 dp_dX = Matrix36::Zero();  ///< its derivative
};

struct FrictionProblem {
  double friction = 0.0;  ///< [-] mu > 0
  NearNodes near;
  std::vector<Vector3> positions;           ///< [m] reference positions of the near nodes
  std::vector<Anchor> anchors;              ///< of the near nodes
  std::vector<std::uint32_t> first_active;  ///< positions in `near`
  std::vector<Vector3> first_traction;      ///< [N] first guess, per first_active
  Eigen::VectorXd first_lambda;             ///< [N]
};

struct FrictionContact {
  std::vector<std::uint32_t> active;  ///< positions in `near`, ascending
  std::vector<bool> sliding;          ///< per active node
  Eigen::VectorXd lambda;             ///< [N]
  std::vector<Vector3> traction;      ///< [N] on A
  std::vector<Vector3> slip;          ///< [m] w of each active node, in A, tangential
  std::vector<Eigen::Matrix<double, 3, 2>> tangents;
  std::vector<double> rho;  ///< [N/m]
  DenseLu jacobian;         ///< rows and columns: normal, tangent 1, tangent 2 per active node
  int iterations = 0;
  double residual = 0.0;
};

/// @throws RecoverableError when Newton's method does not converge
[[nodiscard]] FrictionContact solve_friction_contact(const SurfaceCompliance& compliance,
                                                     const FrictionProblem& problem);

/// Derivatives of the converged solution. @param by_rotation  d u / d X of each active node at fixed force components
[[nodiscard]] NodeDerivatives friction_derivatives(const SurfaceCompliance& compliance, const FrictionProblem& problem,
                                                   const FrictionContact& contact,
                                                   std::span<const std::uint32_t> candidates,
                                                   const std::vector<TouchingNode>& nodes,
                                                   std::span<const Matrix36> by_rotation, const Vector3& p_AB);

}  // namespace heelstrike::fem
