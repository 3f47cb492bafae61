#include "mbs_server/formulation/rheonomic_constraint.hpp"

namespace heelstrike::mbs {
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
