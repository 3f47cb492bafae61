#include "mbs_server/formulation/deformation_force.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mbs_server/formulation/line_force.hpp"

namespace heelstrike::mbs {
namespace {

VectorX local_part(const ConstVector& x, const std::vector<int>& indices) {
  VectorX y(static_cast<Eigen::Index>(indices.size()));
  for (std::size_t k = 0; k < indices.size(); ++k) y[static_cast<Eigen::Index>(k)] = x[indices[k]];
  return y;
}

void add_local(SparseAssembler& target, const std::vector<int>& indices, const Eigen::MatrixXd& block) {
  for (std::size_t k = 0; k < indices.size(); ++k) {
    for (std::size_t l = 0; l < indices.size(); ++l) {
      target.add(indices[k], indices[l], block(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(l)));
    }
  }
}

std::vector<QuadraticEquation> deformations(const SpringElement& spring) {
  const auto axis = [](const JointSide& side, int k) { return body_direction(side.body, side.X_BF.R.col(k)); };
  const AffineVector p = body_point(spring.b.body, spring.b.X_BF.p) - body_point(spring.a.body, spring.a.X_BF.p);
  std::vector<QuadraticEquation> forms;
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3;
    const int k = (i + 2) % 3;
    forms.push_back(sum_of(dot_equation(axis(spring.a, k), axis(spring.b, j), 0.5),
                           dot_equation(axis(spring.a, j), axis(spring.b, k), 0.5), -1.0));
  }
  for (int i = 0; i < 3; ++i) forms.push_back(dot_equation(axis(spring.a, i), p));
  return forms;
}

}  // namespace

TorsionalSpring::TorsionalSpring(const SpringElement& spring, const Joint& joint) : spring_(spring), angle_(joint) {}

double TorsionalSpring::deflection(double angle) const {
  return std::remainder(angle - spring_.length, 2.0 * std::numbers::pi);
}

void TorsionalSpring::add_forces(double /*t*/, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                                 EnergyTerms& energy) {
  const auto d = angle_.derivatives(q);
  const double x = deflection(d.angle);
  const double speed = d.gradient.dot(angle_.local(qd));
  const double torque = spring_.k * x + spring_.c * speed;
  const auto& at = angle_.indices();
  for (std::size_t k = 0; k < at.size(); ++k) g[at[k]] -= torque * d.gradient[static_cast<Eigen::Index>(k)];
  energy.potential += 0.5 * spring_.k * x * x;
  energy.dissipated_power += spring_.c * speed * speed;
}

void TorsionalSpring::add_tangents(double /*t*/, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                                   SparseAssembler& C) {
  const auto d = angle_.derivatives(q);
  const VectorX v = angle_.local(qd);
  const double torque = spring_.k * deflection(d.angle) + spring_.c * d.gradient.dot(v);
  const VectorX by_q = spring_.k * d.gradient + spring_.c * d.hessian * v;
  add_local(K, angle_.indices(), -d.gradient * by_q.transpose() - torque * d.hessian);
  add_local(C, angle_.indices(), -spring_.c * d.gradient * d.gradient.transpose());
}

Bushing::Bushing(const SpringElement& spring) : spring_(spring) {
  const auto forms = deformations(spring);
  for (const auto& form : forms) {
    for (const auto& term : form.quadratic) indices_.insert(indices_.end(), {term.i, term.j});
    for (const auto& term : form.linear) indices_.push_back(term.i);
  }
  std::ranges::sort(indices_);
  indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
  const auto n = static_cast<Eigen::Index>(indices_.size());
  const auto place = [&](int i) { return std::ranges::lower_bound(indices_, i) - indices_.begin(); };
  for (const auto& form : forms) {
    VectorX b = VectorX::Zero(n);
    Eigen::MatrixXd H = Eigen::MatrixXd::Zero(n, n);
    for (const auto& term : form.linear) b[place(term.i)] += term.b;
    for (const auto& term : form.quadratic) {
      H(place(term.i), place(term.j)) += term.c;
      H(place(term.j), place(term.i)) += term.c;
    }
    constants_.push_back(form.constant);
    linear_.push_back(std::move(b));
    hessians_.push_back(std::move(H));
  }
}

Bushing::State Bushing::state(const ConstVector& q, const ConstVector& qd) const {
  const VectorX x = local_part(q, indices_);
  const VectorX v = local_part(qd, indices_);
  State s;
  s.E_q.resize(6, x.size());
  s.E_q_rate.resize(6, x.size());
  for (std::size_t i = 0; i < 6; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const VectorX Hx = hessians_[i] * x;
    s.e[row] = constants_[i] + linear_[i].dot(x) + 0.5 * x.dot(Hx);
    s.E_q.row(row) = (linear_[i] + Hx).transpose();
    s.E_q_rate.row(row) = (hessians_[i] * v).transpose();
  }
  s.rate = s.E_q * v;
  s.force = spring_.K * s.e + spring_.C * s.rate;
  return s;
}

void Bushing::add_forces(double /*t*/, const ConstVector& q, const ConstVector& qd, Eigen::Ref<VectorX> g,
                         EnergyTerms& energy) {
  const State s = state(q, qd);
  const VectorX generalized = s.E_q.transpose() * s.force;
  for (std::size_t k = 0; k < indices_.size(); ++k) g[indices_[k]] -= generalized[static_cast<Eigen::Index>(k)];
  energy.potential += 0.5 * s.e.dot(spring_.K * s.e);
  energy.dissipated_power += s.rate.dot(spring_.C * s.rate);
}

void Bushing::add_tangents(double /*t*/, const ConstVector& q, const ConstVector& qd, SparseAssembler& K,
                           SparseAssembler& C) {
  const State s = state(q, qd);
  Eigen::MatrixXd by_q = -s.E_q.transpose() * (spring_.K * s.E_q + spring_.C * s.E_q_rate);
  for (std::size_t i = 0; i < 6; ++i) by_q -= s.force[static_cast<Eigen::Index>(i)] * hessians_[i];
  add_local(K, indices_, by_q);
  add_local(C, indices_, -s.E_q.transpose() * spring_.C * s.E_q);
}

std::unique_ptr<ForceElement> make_spring(const Model& model, const SpringElement& spring) {
  if (spring.type == "torsional_spring") {
    return std::make_unique<TorsionalSpring>(spring, model.joints[static_cast<std::size_t>(spring.joint)]);
  }
  if (spring.type == "bushing") return std::make_unique<Bushing>(spring);
  return std::make_unique<LineForce>(spring);
}

}  // namespace heelstrike::mbs
