#include "mbs_server/formulation/joint_equations.hpp"

#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {

Vector3 AffineVector::value(const ConstVector& q) const {
  Vector3 v = constant;
  for (const Term& term : terms) v += term.coef * q.segment<3>(term.first);
  return v;
}

Vector3 AffineVector::rate(const ConstVector& qd) const {
  Vector3 v = Vector3::Zero();
  for (const Term& term : terms) v += term.coef * qd.segment<3>(term.first);
  return v;
}

AffineVector body_direction(BodyIndex body, const Vector3& u_B) {
  if (body == ground) return {.constant = u_B, .terms = {}};
  AffineVector a;
  for (int k = 0; k < 3; ++k) {
    // u = sum_k u_k v_k, with v_k after the origin. Zero components are omitted: most joint axes are body axes, and the
    // number of terms is squared in the products below.
    if (u_B[k] != 0.0) a.terms.push_back({.first = coordinates_per_body * body + 3 + 3 * k, .coef = u_B[k]});
  }
  return a;
}

/// Equation (1) of docs/theory/multibody.md: a point is a direction plus the origin of its body. On ground p_BP is the
/// point itself.
AffineVector body_point(BodyIndex body, const Vector3& p_BP) {
  AffineVector a = body_direction(body, p_BP);
  if (body != ground) a.terms.push_back({.first = coordinates_per_body * body, .coef = 1.0});
  return a;
}

AffineVector operator-(const AffineVector& a, const AffineVector& b) {
  AffineVector difference = a;
  difference.constant -= b.constant;
  for (const auto& term : b.terms) difference.terms.push_back({.first = term.first, .coef = -term.coef});
  return difference;
}

/// (a0 + sum s)'(b0 + sum r) component by component: constant, linear and quadratic products. Terms of the same pair
/// of coordinates are not merged; assembly adds them.
QuadraticEquation dot_equation(const AffineVector& a, const AffineVector& b, double factor, double constant) {
  QuadraticEquation equation;
  equation.constant = constant + factor * a.constant.dot(b.constant);
  for (int c = 0; c < 3; ++c) {
    for (const auto& s : a.terms) {
      if (b.constant[c] != 0.0) equation.linear.push_back({.i = s.first + c, .b = factor * s.coef * b.constant[c]});
      for (const auto& r : b.terms) {
        equation.quadratic.push_back({.i = s.first + c, .j = r.first + c, .c = factor * s.coef * r.coef});
      }
    }
    for (const auto& r : b.terms) {
      if (a.constant[c] != 0.0) equation.linear.push_back({.i = r.first + c, .b = factor * r.coef * a.constant[c]});
    }
  }
  return equation;
}

QuadraticEquation component_equation(const AffineVector& a, int c) {
  return dot_equation(a, {.constant = Vector3::Unit(c), .terms = {}});
}

QuadraticEquation sum_of(QuadraticEquation a, const QuadraticEquation& b, double factor) {
  a.constant += factor * b.constant;
  for (const auto& term : b.quadratic) a.quadratic.push_back({.i = term.i, .j = term.j, .c = factor * term.c});
  for (const auto& term : b.linear) a.linear.push_back({.i = term.i, .b = factor * term.b});
  return a;
}

Equations joined(std::initializer_list<Equations> parts) {
  Equations all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Equations same_point(const JointVectors& v) {
  return {component_equation(v.p_AB, 0), component_equation(v.p_AB, 1), component_equation(v.p_AB, 2)};
}
Equations parallel_axes(const JointVectors& v) {
  return {dot_equation(v.x_A, v.z_B), dot_equation(v.y_A, v.z_B)};
}
Equations on_axis(const JointVectors& v) {
  return {dot_equation(v.x_A, v.p_AB), dot_equation(v.y_A, v.p_AB)};
}
Equations in_plane(const JointVectors& v) {
  return {dot_equation(v.z_A, v.p_AB)};
}
Equations no_rotation(const JointVectors& v) {
  return {dot_equation(v.x_A, v.y_B)};
}

JointVectors joint_vectors(const JointSide& a, const JointSide& b) {
  const auto axis = [](const JointSide& side, int k) { return body_direction(side.body, side.X_BF.R.col(k)); };
  return {.x_A = axis(a, 0),
          .y_A = axis(a, 1),
          .z_A = axis(a, 2),
          .y_B = axis(b, 1),
          .z_B = axis(b, 2),
          .p_AB = body_point(b.body, b.X_BF.p) - body_point(a.body, a.X_BF.p)};
}

Joint quadratic_joint(std::string name, const JointSide& a, const JointSide& b, const JointEquations& equations) {
  Joint joint{.name = std::move(name), .a = a, .b = b};
  joint.make = [name = joint.name, all = equations(joint_vectors(a, b))](const ConstVector&) {
    return std::make_unique<QuadraticConstraint>(name, all);
  };
  return joint;
}

Joint unilateral_joint(std::string name, const JointSide& a, const JointSide& b, const JointEquations& equations,
                       const ImpactAtGap& impact) {
  Joint joint{.name = std::move(name), .a = a, .b = b};
  joint.make = [name = joint.name, gap = equations(joint_vectors(a, b)).at(0), impact](const ConstVector&) {
    return std::make_unique<UnilateralConstraint>(name, gap, impact);
  };
  return joint;
}

}  // namespace heelstrike::mbs
