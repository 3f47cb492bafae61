/// Minimum-norm reactions of redundant contact points, for which the motion is unique and the reactions are not.
///
/// The dual of the projection of zero on {W r = W r_0} and the cones is smooth and convex, with rank(W) unknowns; a
/// semismooth Newton method minimises it [qi1993]. docs/theory/rigid_contact.md
#pragma once

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

}  // namespace heelstrike::friction
