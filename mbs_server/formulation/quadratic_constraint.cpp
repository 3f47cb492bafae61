#include "mbs_server/formulation/quadratic_constraint.hpp"

#include <utility>

namespace heelstrike::mbs {

QuadraticConstraint::QuadraticConstraint(std::string name, std::vector<QuadraticEquation> equations)
    : name_(std::move(name)), equations_(std::move(equations)) {}

void QuadraticConstraint::keep_rows(const std::vector<int>& kept) {
  std::vector<QuadraticEquation> equations;
  for (const int row : kept) equations.push_back(equations_[static_cast<std::size_t>(row)]);
  equations_ = std::move(equations);
}

void QuadraticConstraint::residual(double /*t*/, const ConstVector& q, Eigen::Ref<VectorX> phi) const {
  for (std::size_t r = 0; r < equations_.size(); ++r) {
    double value = equations_[r].constant;
    for (const auto& term : equations_[r].quadratic) value += term.c * q[term.i] * q[term.j];
    for (const auto& term : equations_[r].linear) value += term.b * q[term.i];
    phi[static_cast<Eigen::Index>(r)] = value;
  }
}

void QuadraticConstraint::velocity_rhs(double /*t*/, const ConstVector& /*q*/, Eigen::Ref<VectorX> nu) const {
  nu.setZero();
}

void QuadraticConstraint::acceleration_rhs(double /*t*/, const ConstVector& /*q*/, const ConstVector& qd,
                                           Eigen::Ref<VectorX> gamma) const {
  for (std::size_t r = 0; r < equations_.size(); ++r) {
    double value = 0.0;
    // gamma = -qd' Phi_qq qd: the second derivative of c q_i q_j along qd is 2 c qd_i qd_j. Linear terms have none.
    for (const auto& term : equations_[r].quadratic) value -= 2.0 * term.c * qd[term.i] * qd[term.j];
    gamma[static_cast<Eigen::Index>(r)] = value;
  }
}

void QuadraticConstraint::add_jacobian(double /*t*/, const ConstVector& q, int row0, SparseAssembler& Phi_q) const {
  int row = row0;
  for (const auto& equation : equations_) {
    for (const auto& term : equation.quadratic) {
      // Product rule; for i = j the two contributions add up to 2 c q_i.
      Phi_q.add(row, term.i, term.c * q[term.j]);
      Phi_q.add(row, term.j, term.c * q[term.i]);
    }
    for (const auto& term : equation.linear) Phi_q.add(row, term.i, term.b);
    ++row;
  }
}

void QuadraticConstraint::add_velocity_tangent(double /*t*/, const ConstVector& /*q*/, const ConstVector& qd, int row0,
                                               SparseAssembler& V_q) const {
  int row = row0;
  for (const auto& equation : equations_) {
    for (const auto& term : equation.quadratic) {
      // (Phi_q qd)_q = (Phi_qq qd)', the Jacobian's formula with qd in the place of q. The same holds for all tangents
      // below.
      V_q.add(row, term.i, term.c * qd[term.j]);
      V_q.add(row, term.j, term.c * qd[term.i]);
    }
    ++row;
  }
}

void QuadraticConstraint::add_force_tangent(double /*t*/, const ConstVector& /*q*/, const ConstVector& lambda,
                                            SparseAssembler& K) const {
  for (std::size_t r = 0; r < equations_.size(); ++r) {
    const double l = lambda[static_cast<Eigen::Index>(r)];
    for (const auto& term : equations_[r].quadratic) {
      // -(Phi_q' lambda)_q = -sum lambda Phi_qq, constant and symmetric.
      K.add(term.i, term.j, -l * term.c);
      K.add(term.j, term.i, -l * term.c);
    }
  }
}

void QuadraticConstraint::add_acceleration_tangents(double /*t*/, const ConstVector& /*q*/, const ConstVector& qd,
                                                    const ConstVector& qdd, int row0, SparseAssembler& G_q,
                                                    SparseAssembler& G_v) const {
  int row = row0;
  for (const auto& equation : equations_) {
    for (const auto& term : equation.quadratic) {
      // gamma does not depend on q, so that G_q = -(Phi_q qdd)_q; G_v = gamma_qd.
      G_q.add(row, term.i, -term.c * qdd[term.j]);
      G_q.add(row, term.j, -term.c * qdd[term.i]);
      G_v.add(row, term.i, -2.0 * term.c * qd[term.j]);
      G_v.add(row, term.j, -2.0 * term.c * qd[term.i]);
    }
    ++row;
  }
}

QuadraticConstraint rigid_body_constraint(const std::string& body, int first) {
  // The order that RigidRows relies on.
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

}  // namespace heelstrike::mbs
