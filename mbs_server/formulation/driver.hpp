#pragma once

#include "mbs_server/formulation/rheonomic_constraint.hpp"
#include "mbs_server/model/model.hpp"

namespace heelstrike::mbs {

/// Prescribed motion as constraints that stay quadratic in q with coefficients that depend on time:
///   angle          (x_B . y_A) cos theta(t) - (x_B . x_A) sin theta(t) = 0, the sine of the error in the angle
///   displacement   z_A . p_AB - s(t) = 0
///   position       r_c - x(t) = 0
///   orientation    v_2 . d_3(t) = v_3 . d_1(t) = v_1 . d_2(t) = 0 with d_k the columns of Rx(rx) Ry(ry) Rz(rz)
[[nodiscard]] std::unique_ptr<RheonomicConstraint> make_driver(const Model& model, const Driver& driver);

}  // namespace heelstrike::mbs
