/// Contact with Coulomb friction of a linear body, incremental in the slip since the last commit:
///
///     lambda >= 0,  gamma >= 0,  lambda gamma = 0
///     |tau| <= mu lambda,   w = 0 where |tau| < mu lambda,   tau = - mu lambda w / |w| where it slides
///
/// solved by a semismooth Newton method on the projection equations [alart1991]: normal rows by active set, tangential
/// rows tau = proj(tau - rho w) on the disc of radius mu lambda. The working set of nodes grows until no near node
/// outside it penetrates.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/friction/local_problem.hpp"
#include "fem_server/contact_solver/contact_wrench.hpp"
#include "fem_server/contact_solver/detection/active_candidates.hpp"
#include "fem_server/contact_solver/solver/committed_friction.hpp"
#include "fem_server/contact_solver/solver/friction_linearisation.hpp"
#include "fem_server/contact_solver/stick_point.hpp"
#include "fem_server/fem/condensation.hpp"

namespace heelstrike::fem {

struct FrictionProblem {
  double friction = 0.0;  ///< [-] mu > 0
  Matrix3 R_AB = Matrix3::Identity();
  ActiveCandidates near;
  std::vector<Vector3> positions;                        ///< [m] reference positions of the near nodes
  std::function<StickPoint(std::uint32_t)> stick_point;  ///< of a near node; called for considered nodes only
  /// Of the nodes near.kept, if the committed state is a suitable start; null = it is not.
  std::shared_ptr<const CommittedFriction> committed{};
};

struct FrictionContact {
  std::vector<std::uint32_t> active;  ///< positions in `near`, ascending
  std::vector<bool> sliding;          ///< per active node
  Eigen::VectorXd lambda;             ///< [N]
  std::vector<Vector3> traction;      ///< [N] on A
  std::vector<Vector3> slip;          ///< [m] w of each active node, in A, tangential
  std::vector<StickPoint> stick_points;
  std::vector<Eigen::Matrix<double, 3, 2>> tangents;
  std::vector<double> rho;  ///< [N/m]
  std::vector<Vector3> u;   ///< [m] displacement of each active node
  /// Newton's matrix at the solution: of a working set in which the active nodes are these `members`.
  std::vector<std::uint32_t> members;
  std::vector<NodeLinearisation> nodes;
  std::shared_ptr<const LocalCompliance> B;
  std::shared_ptr<DirectionFactors> factors;
  std::shared_ptr<const CommittedFriction> committed;  ///< replaces B and factors; null = these are used
  std::vector<NodeMotion> found;                       ///< of members and of other near nodes that were checked
  int iterations = 0;                                  ///< of Newton's method
  double residual = 0.0;
};

/// @throws RecoverableError when Newton's method does not converge
[[nodiscard]] FrictionContact solve_friction_contact(const SurfaceCompliance& compliance,
                                                     const FrictionProblem& problem);

/// The same for all near nodes, in a form for other solvers: normal components are gaps, tangential ones the slip since
/// the commit, u [m] by r [N].
[[nodiscard]] friction::LocalProblem local_problem(const SurfaceCompliance& compliance, const FrictionProblem& problem);

/// Displacements [m] of the active nodes under forces [N] on them, one field per column, in A, in single precision.
/// @pre contact.committed is set
[[nodiscard]] Eigen::MatrixXd active_displacements(const FrictionContact& contact, const Eigen::MatrixXd& forces);

/// Derivatives of the converged solution. @param by_rotation  d u / d X of each active node at fixed force components
[[nodiscard]] NodeDerivatives friction_derivatives(const FrictionProblem& problem, const FrictionContact& contact,
                                                   const std::vector<ContactNodeState>& nodes,
                                                   std::span<const Matrix36> by_rotation, const Vector3& p_AB,
                                                   const SurfaceCompliance& compliance);

}  // namespace heelstrike::fem
