#include "mbs_server/formulation/quadratic_constraint.hpp"

#include <utility>

namespace heelstrike::mbs {

double QuadraticEquation::residual(double /*t*/, const ConstVector& q) const {
  double value = constant;
  for (const auto& term : quadratic) value += term.c * q[term.i] * q[term.j];
  for (const auto& term : linear) value += term.b * q[term.i];
  return value;
}

double QuadraticEquation::velocity_rhs(double /*t*/, const ConstVector& /*q*/) const {
  return 0.0;
}

double QuadraticEquation::acceleration_rhs(double /*t*/, const ConstVector& /*q*/, const ConstVector& qd) const {
  return 0.0 - curvature(qd);  // the zero keeps the sign of an equation without quadratic terms positive
}

void QuadraticEquation::add_jacobian(double /*t*/, const ConstVector& q, int row, SparseAssembler& Phi_q) const {
  add_gradient(1.0, q, row, Phi_q);
}

void QuadraticEquation::add_velocity_tangent(double /*t*/, const ConstVector& /*q*/, const ConstVector& qd, int row,
                                             SparseAssembler& V_q) const {
  add_hessian_product(1.0, qd, row, V_q);
}

void QuadraticEquation::add_force_tangent(double /*t*/, const ConstVector& /*q*/, double lambda,
                                          SparseAssembler& K) const {
  for (const auto& term : quadratic) {
    K.add(term.i, term.j, -lambda * term.c);
    K.add(term.j, term.i, -lambda * term.c);
  }
}

void QuadraticEquation::add_acceleration_tangents(double /*t*/, const ConstVector& /*q*/, const ConstVector& qd,
                                                  const ConstVector& qdd, int row, SparseAssembler& G_q,
                                                  SparseAssembler& G_v) const {
  // gamma does not depend on q, so that G_q = -(Phi_q qdd)_q; G_v = gamma_qd.
  add_hessian_product(-1.0, qdd, row, G_q);
  add_hessian_product(-2.0, qd, row, G_v);
}

double QuadraticEquation::slope(const ConstVector& q, const ConstVector& x) const {
  double sum = 0.0;
  for (const auto& term : quadratic) sum += term.c * (q[term.i] * x[term.j] + q[term.j] * x[term.i]);
  for (const auto& term : linear) sum += term.b * x[term.i];
  return sum;
}

double QuadraticEquation::curvature(const ConstVector& x) const {
  double sum = 0.0;
  // The second derivative of c q_i q_j along x is 2 c x_i x_j. Linear terms have none.
  for (const auto& term : quadratic) sum += 2.0 * term.c * x[term.i] * x[term.j];
  return sum;
}

void QuadraticEquation::add_gradient(double factor, const ConstVector& q, int row, SparseAssembler& target) const {
  // Q_q = Q_qq q + b, Q being quadratic.
  add_hessian_product(factor, q, row, target);
  for (const auto& term : linear) target.add(row, term.i, factor * term.b);
}

void QuadraticEquation::add_hessian_product(double factor, const ConstVector& x, int row,
                                            SparseAssembler& target) const {
  for (const auto& term : quadratic) {
    // Product rule; for i = j the two contributions add up to 2 c x_i.
    target.add(row, term.i, factor * term.c * x[term.j]);
    target.add(row, term.j, factor * term.c * x[term.i]);
  }
}

QuadraticConstraint rigid_body_constraint(const std::string& body, int first) {
  // The order that RigidRows requires.
  constexpr int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {2, 0}};
  std::vector<QuadraticEquation> equations;
  for (const auto& pair : pairs) {
    QuadraticEquation equation;
    for (int c = 0; c < 3; ++c) {
      equation.quadratic.push_back({.i = first + 3 + 3 * pair[0] + c, .j = first + 3 + 3 * pair[1] + c, .c = 1.0});
    }
    equation.constant = pair[0] == pair[1] ? -1.0 : 0.0;
    equations.push_back(std::move(equation));
  }
  return {body + ": rigid body", std::move(equations)};
}

namespace {

template <typename Term, typename Summand>
double sum_of_terms(const std::vector<Term>& terms, double t, Summand summand) {
  double total = 0.0;
  for (const auto& term : terms) total += summand(term.factor(t), term.form);
  return total;
}

}  // namespace

double RheonomicEquation::residual(double t, const ConstVector& q) const {
  return sum_of_terms(terms, t, [&](const Jet& f, const QuadraticEquation& Q) { return f.f * Q.residual(t, q); });
}

bool RheonomicEquation::on_intended_branch(double t, const ConstVector& q) const {
  if (positive.empty()) return true;
  return sum_of_terms(positive, t, [&](const Jet& f, const QuadraticEquation& Q) { return f.f * Q.residual(t, q); }) >
         0.0;
}

double RheonomicEquation::velocity_rhs(double t, const ConstVector& q) const {
  return sum_of_terms(terms, t, [&](const Jet& f, const QuadraticEquation& Q) { return -f.d * Q.residual(t, q); });
}

double RheonomicEquation::acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd) const {
  return sum_of_terms(terms, t, [&](const Jet& f, const QuadraticEquation& Q) {
    // -2 Phi_qt qd is the middle term, which is missing in Melo 2023, eq. 3.4.
    return -(f.f * Q.curvature(qd) + 2.0 * f.d * Q.slope(q, qd) + f.dd * Q.residual(t, q));
  });
}

void RheonomicEquation::add_jacobian(double t, const ConstVector& q, int row, SparseAssembler& Phi_q) const {
  for (const auto& term : terms) term.form.add_gradient(term.factor(t).f, q, row, Phi_q);
}

void RheonomicEquation::add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row,
                                             SparseAssembler& V_q) const {
  for (const auto& term : terms) {
    const Jet f = term.factor(t);
    term.form.add_hessian_product(f.f, qd, row, V_q);
    term.form.add_gradient(f.d, q, row, V_q);
  }
}

void RheonomicEquation::add_force_tangent(double t, const ConstVector& q, double lambda, SparseAssembler& K) const {
  for (const auto& term : terms) term.form.add_force_tangent(t, q, lambda * term.factor(t).f, K);
}

void RheonomicEquation::add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd,
                                                  const ConstVector& qdd, int row, SparseAssembler& G_q,
                                                  SparseAssembler& G_v) const {
  for (const auto& term : terms) {
    const Jet f = term.factor(t);
    // Equation (3) of docs/theory/multibody.md minus Phi_q qdd, derived by q and then by qd.
    term.form.add_hessian_product(-f.f, qdd, row, G_q);
    term.form.add_hessian_product(-2.0 * f.d, qd, row, G_q);
    term.form.add_gradient(-f.dd, q, row, G_q);
    term.form.add_hessian_product(-2.0 * f.f, qd, row, G_v);
    term.form.add_gradient(-2.0 * f.d, q, row, G_v);
  }
}

}  // namespace heelstrike::mbs
