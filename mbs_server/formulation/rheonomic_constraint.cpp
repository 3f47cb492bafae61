#include "mbs_server/formulation/rheonomic_constraint.hpp"

#include <utility>

namespace heelstrike::mbs {
namespace {

double value(const QuadraticEquation& form, const ConstVector& q) {
  double sum = form.constant;
  for (const auto& term : form.quadratic) sum += term.c * q[term.i] * q[term.j];
  for (const auto& term : form.linear) sum += term.b * q[term.i];
  return sum;
}

/// Q_q x
double slope(const QuadraticEquation& form, const ConstVector& q, const ConstVector& x) {
  double sum = 0.0;
  for (const auto& term : form.quadratic) sum += term.c * (q[term.i] * x[term.j] + q[term.j] * x[term.i]);
  for (const auto& term : form.linear) sum += term.b * x[term.i];
  return sum;
}

/// x' Q_qq x
double curvature(const QuadraticEquation& form, const ConstVector& x) {
  double sum = 0.0;
  for (const auto& term : form.quadratic) sum += 2.0 * term.c * x[term.i] * x[term.j];
  return sum;
}

/// factor * (Q_qq x) into `row`
void add_hessian_product(const QuadraticEquation& form, double factor, const ConstVector& x, int row,
                         SparseAssembler& target) {
  for (const auto& term : form.quadratic) {
    target.add(row, term.i, factor * term.c * x[term.j]);
    target.add(row, term.j, factor * term.c * x[term.i]);
  }
}

void add_gradient(const QuadraticEquation& form, double factor, const ConstVector& q, int row,
                  SparseAssembler& target) {
  // Q_q = Q_qq q + b, Q being quadratic.
  add_hessian_product(form, factor, q, row, target);
  for (const auto& term : form.linear) target.add(row, term.i, factor * term.b);
}

template <typename Sum>
void sum_rows(const std::vector<RheonomicEquation>& equations, double t, Eigen::Ref<VectorX> result, Sum sum) {
  for (std::size_t r = 0; r < equations.size(); ++r) {
    double total = 0.0;
    for (const auto& term : equations[r].terms) total += sum(term.factor(t), term.form);
    result[static_cast<Eigen::Index>(r)] = total;
  }
}

}  // namespace

RheonomicConstraint::RheonomicConstraint(std::string name, std::vector<RheonomicEquation> equations)
    : name_(std::move(name)), equations_(std::move(equations)) {}

void RheonomicConstraint::keep_rows(const std::vector<int>& kept) {
  std::vector<RheonomicEquation> equations;
  for (const int row : kept) equations.push_back(equations_[static_cast<std::size_t>(row)]);
  equations_ = std::move(equations);
}

void RheonomicConstraint::residual(double t, const ConstVector& q, Eigen::Ref<VectorX> phi) const {
  sum_rows(equations_, t, phi, [&](const Jet& f, const QuadraticEquation& Q) { return f.f * value(Q, q); });
}

void RheonomicConstraint::velocity_rhs(double t, const ConstVector& q, Eigen::Ref<VectorX> nu) const {
  sum_rows(equations_, t, nu, [&](const Jet& f, const QuadraticEquation& Q) { return -f.d * value(Q, q); });
}

void RheonomicConstraint::acceleration_rhs(double t, const ConstVector& q, const ConstVector& qd,
                                           Eigen::Ref<VectorX> gamma) const {
  sum_rows(equations_, t, gamma, [&](const Jet& f, const QuadraticEquation& Q) {
    // -2 Phi_qt qd is the middle term, which is missing in Melo 2023, eq. 3.4.
    return -(f.f * curvature(Q, qd) + 2.0 * f.d * slope(Q, q, qd) + f.dd * value(Q, q));
  });
}

void RheonomicConstraint::add_jacobian(double t, const ConstVector& q, int row0, SparseAssembler& Phi_q) const {
  int row = row0;
  for (const auto& equation : equations_) {
    for (const auto& term : equation.terms) add_gradient(term.form, term.factor(t).f, q, row, Phi_q);
    ++row;
  }
}

void RheonomicConstraint::add_velocity_tangent(double t, const ConstVector& q, const ConstVector& qd, int row0,
                                               SparseAssembler& V_q) const {
  int row = row0;
  for (const auto& equation : equations_) {
    for (const auto& term : equation.terms) {
      const Jet f = term.factor(t);
      // (Phi_q qd)_q, and -nu_q = Phi_tq because nu depends on q here.
      add_hessian_product(term.form, f.f, qd, row, V_q);
      add_gradient(term.form, f.d, q, row, V_q);
    }
    ++row;
  }
}

void RheonomicConstraint::add_force_tangent(double t, const ConstVector& /*q*/, const ConstVector& lambda,
                                            SparseAssembler& K) const {
  for (std::size_t r = 0; r < equations_.size(); ++r) {
    for (const auto& term : equations_[r].terms) {
      // -(Phi_q' lambda)_q = -sum lambda f Q_qq.
      const double factor = -lambda[static_cast<Eigen::Index>(r)] * term.factor(t).f;
      for (const auto& c : term.form.quadratic) {
        K.add(c.i, c.j, factor * c.c);
        K.add(c.j, c.i, factor * c.c);
      }
    }
  }
}

void RheonomicConstraint::add_acceleration_tangents(double t, const ConstVector& q, const ConstVector& qd,
                                                    const ConstVector& qdd, int row0, SparseAssembler& G_q,
                                                    SparseAssembler& G_v) const {
  int row = row0;
  for (const auto& equation : equations_) {
    for (const auto& term : equation.terms) {
      const Jet f = term.factor(t);
      // Equation (3) of docs/theory/multibody.md minus Phi_q qdd, derived by q and then by qd.
      add_hessian_product(term.form, -f.f, qdd, row, G_q);
      add_hessian_product(term.form, -2.0 * f.d, qd, row, G_q);
      add_gradient(term.form, -f.dd, q, row, G_q);
      add_hessian_product(term.form, -2.0 * f.f, qd, row, G_v);
      add_gradient(term.form, -2.0 * f.d, q, row, G_v);
    }
    ++row;
  }
}

}  // namespace heelstrike::mbs
