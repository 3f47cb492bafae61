/// Points and directions fixed in bodies: linear in the fully Cartesian coordinates, constant on ground
/// (Melo 2023, eqs 3.16-3.23). Their products form the quadratic equations of joints.
#pragma once

#include <vector>

#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"

namespace heelstrike::mbs {

/// A 3-vector constant + sum_k coef_k q[first_k .. first_k + 2].
struct AffineVector {
  struct Term {
    int first = 0;
    double coef = 0.0;
  };
  Vector3 constant = Vector3::Zero();
  std::vector<Term> terms;

  [[nodiscard]] Vector3 value(const ConstVector& q) const;
  /// d/dt at the rates qd.
  [[nodiscard]] Vector3 rate(const ConstVector& qd) const;
};

/// World position of a point with coordinates `p_BP` [m] in the body.
[[nodiscard]] AffineVector body_point(BodyIndex body, const Vector3& p_BP);
/// World components of a direction with components `u_B` in the body.
[[nodiscard]] AffineVector body_direction(BodyIndex body, const Vector3& u_B);
[[nodiscard]] AffineVector operator-(const AffineVector& a, const AffineVector& b);

/// factor * a . b + constant.
[[nodiscard]] QuadraticEquation dot_equation(const AffineVector& a, const AffineVector& b, double factor = 1.0,
                                             double constant = 0.0);
/// Component c of `a`.
[[nodiscard]] QuadraticEquation component_equation(const AffineVector& a, int c);
/// a + factor * b
[[nodiscard]] QuadraticEquation sum_of(QuadraticEquation a, const QuadraticEquation& b, double factor);

}  // namespace heelstrike::mbs
