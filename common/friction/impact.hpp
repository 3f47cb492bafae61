/// Minimum-norm reactions of redundant contact points, for which the motion is unique and the reactions are not.
///
/// The dual of the projection of zero on {W r = W r_0} and the cones is smooth and convex, with rank(W) unknowns; a
/// semismooth Newton method minimises it [qi1993]. docs/theory/rigid_contact.md
///
/// Impacts and resting contact of rigid bodies at several points at once, with Coulomb friction.
///
/// Velocities u = W P + u_free at the points, three components each (normal first, positive where the point opens), W =
/// J M^-1 J' symmetric positive semidefinite: redundant points are allowed. docs/theory/rigid_contact.md contains the
/// derivation.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "common/contact/contact_point.hpp"
#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

/// @param W, mu  of points with three components each, W [1/kg] symmetric positive semidefinite
/// @param u      [m/s] motion of the local problem for the solution `r`
/// @param r      [N s] a solution
/// @param rest  [m/s] >= 0: points that open or slide slower are treated as closed or sticking
/// @returns reactions in their cones that reproduce the motion of `r` to 1e-12, vanish at open points and oppose the
/// slip at sliding ones; `r` itself if the minimum is not found, e.g. if all points stick exactly at the friction limit
[[nodiscard]] Eigen::VectorXd find_min_norm_reactions(const Eigen::MatrixXd& W, const Eigen::VectorXd& mu,
                                                      const Eigen::VectorXd& u, const Eigen::VectorXd& r, double rest);

struct ImpactProblem {
  Eigen::MatrixXd W;            ///< [1/kg] Delassus matrix
  Eigen::VectorXd mu;           ///< [-] >= 0, one per point
  Eigen::VectorXd restitution;  ///< [-] in [0, 1], one per point
  std::vector<ImpactLaw> law;   ///< one per point
  /// True if velocities that no impulses change are errors of a step: no body is driven.
  bool is_free = false;
  /// [m/s] Slower velocities are rounding: over a step the bodies move by less than the rounding of their gaps.
  double velocity_rounding = 0.0;
};

struct ImpactSolution {
  Eigen::VectorXd P;      ///< [N s] impulses
  Eigen::VectorXd u;      ///< [m/s] velocities afterwards
  double energy = 0.0;    ///< [J] change by the impact: P . (u + u_before) / 2
  double fraction = 1.0;  ///< [-] fraction of the rebound of the laws: less than one if the full rebound would create
                          ///< energy
  bool converged = true;  ///< of the frictional problems
};

/// An impact: 0 <= P_n perpendicular to u_n + e min(u_n-, 0) >= 0 (Newton), or restitution of at least e times the
/// impulses of an impact without rebound (Poisson), with Coulomb friction. P is the minimum-norm solution.
///
/// Without friction, and with one point, this dissipates. With friction both laws may create energy: the impulses are
/// then interpolated between the impact without rebound, which never creates energy, and that of the law such that
/// energy is conserved.
[[nodiscard]] ImpactSolution solve_impact(const ImpactProblem& problem, const Eigen::VectorXd& u_before);

/// Orthonormal basis of the range of W, by columns, for several solutions with the same W.
[[nodiscard]] Eigen::MatrixXd find_range(const Eigen::MatrixXd& W);

/// Velocities at the points of bodies that move as rigid ones: without the part that no impulses change, which in a
/// step comes from axes that are not unit vectors; unchanged without friction and with driven bodies.
/// @param V  find_range(problem.W)
/// @param u  one vector in each column
[[nodiscard]] Eigen::MatrixXd rigid_velocities(const ImpactProblem& problem, const Eigen::MatrixXd& V,
                                               Eigen::MatrixXd u);

/// Contact over a step: 0 <= P_n perpendicular to u_n - floor >= 0, with Coulomb friction.
/// @param V  find_range(problem.W)
/// @param u_free  rigid velocities without contact
/// @param floor  [m/s] one per point: minimum normal velocity
/// @param slip_offset  [m/s] rigid velocities added to the tangential ones in Coulomb's law, three components per
///                     point; empty = zero
/// @param guess  impulses of a similar problem: affects the time and the rounding; empty = none
[[nodiscard]] ImpactSolution solve_contact(const ImpactProblem& problem, const Eigen::MatrixXd& V,
                                           const Eigen::VectorXd& u_free, const Eigen::VectorXd& floor,
                                           const Eigen::VectorXd& slip_offset = {}, const Eigen::VectorXd& guess = {});

/// Frictionless: 0 <= p perpendicular to A p + b >= 0 for symmetric positive semidefinite A, p of minimum norm. Exact
/// up to rounding.
/// @returns false without solution
bool solve_normal(const Eigen::MatrixXd& A, const Eigen::VectorXd& b, Eigen::VectorXd& p);

}  // namespace heelstrike::friction
