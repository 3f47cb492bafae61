/// Of all reactions that cause one motion the smallest: where there are more points than the bodies can tell apart, the
/// motion is unique and the reactions are not.
///
/// The dual of the projection of zero on {W r = W r_0} and the cones is smooth and convex, of as many unknowns as W has
/// rank; a semismooth Newton method minimises it [qi1993]. docs/theory/rigid_contact.md
#pragma once

#include "common/friction/local_problem.hpp"

namespace heelstrike::friction {

/// @param W, mu  of points with three components each, W [1/kg] symmetric positive semidefinite
/// @param u      [m/s] the motion that `r` solves the local problem with
/// @param r      [N s] a solution
/// @param rest   [m/s] >= 0: what opens or slides slower is taken to touch or to stick
/// @returns reactions within their cones that cause the motion of `r` to 1e-12 of it and carry nothing where points
/// open, act against the slip where they slide. `r` itself where the minimum is not found, as for points that all stick
/// at the very limit of their friction.
[[nodiscard]] Eigen::VectorXd find_min_norm_reactions(const Eigen::MatrixXd& W, const Eigen::VectorXd& mu,
                                                 const Eigen::VectorXd& u, const Eigen::VectorXd& r, double rest);

}  // namespace heelstrike::friction
