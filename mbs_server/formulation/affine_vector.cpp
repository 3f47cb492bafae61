#include "mbs_server/formulation/affine_vector.hpp"

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

}  // namespace heelstrike::mbs
