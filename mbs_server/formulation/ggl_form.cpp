#include "mbs_server/formulation/ggl_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"

namespace heelstrike::mbs {
namespace {

void add_identity(SparseAssembler& target, int row0, int col0, int n, double scale) {
  for (int i = 0; i < n; ++i) target.add(row0 + i, col0 + i, scale);
}

}  // namespace

GglForm::GglForm(System& system)
    : system_(system),
      n_(system.n_q()),
      n_y_(system.n_y()),
      m_(system.n_constraints()),
      Phi_q_(m_, n_),
      K_(n_, n_),
      C_(n_, n_),
      K_mu_(n_, n_),
      velocity_(m_, n_),
      matrix_(size(), size()),
      g_(n_),
      inertia_(n_) {}

template <typename Fill>
void GglForm::for_each_block(Fill fill) const {
  int row = 0;
  for (const auto& constraint : system_.constraints()) {
    fill(*constraint, row);
    row += constraint->rows();
  }
}

void GglForm::assemble_jacobian(double t, const ConstVector& q) {
  Phi_q_.begin();
  for_each_block([&](const Constraint& c, int row) { c.add_jacobian(t, q, row, Phi_q_); });
  Phi_q_.end();
}

void GglForm::residual(double t, const ConstVector& x, const ConstVector& xd, Eigen::Ref<VectorX> r) {
  const auto q = x.head(n_);
  const auto v = x.segment(n_, n_);
  EnergyTerms unused;
  const MotionState at = system_.state(t, x);
  system_.apply_forces(at, g_, unused);
  assemble_jacobian(t, q);
  system_.multiply_mass(xd.segment(n_, n_), inertia_);
  // Signs as in docs/theory/integrators.md, "Stabilised index 2". The mass matrix remains on the left and is not
  // inverted.
  r.head(n_) = xd.head(n_) - v + Phi_q_.matrix().transpose() * x.tail(m_);
  // Constraint forces are -Phi_q' lambda.
  r.segment(n_, n_) = inertia_ - g_ + Phi_q_.matrix().transpose() * x.segment(n_y_, m_);
  auto rates = r.segment(2 * n_, system_.n_states());
  system_.states().rates(at, rates);
  rates = xd.segment(2 * n_, system_.n_states()) - rates;
  auto position = r.segment(n_y_, m_);
  auto velocity = r.tail(m_);
  for_each_block([&](const Constraint& c, int row) {
    c.residual(t, q, position.segment(row, c.rows()));
    c.velocity_rhs(t, q, velocity.segment(row, c.rows()));
  });
  // `velocity` contains nu up to this point.
  velocity = Phi_q_.matrix() * v - velocity;
  if (!r.allFinite()) {
    throw RecoverableError(fmt::format("joints and drivers prescribe a non-finite motion at t = {} s", t));
  }
}

void GglForm::factor(double t, const ConstVector& x, double c) {
  const auto q = x.head(n_);
  const auto v = x.segment(n_, n_);
  for (auto* part : {&K_, &C_, &K_mu_, &velocity_}) part->begin();
  const MotionState at = system_.state(t, x);
  system_.add_force_tangents(at, K_, C_);
  for_each_block([&](const Constraint& constraint, int row) {
    constraint.add_force_tangent(t, q, x.segment(n_y_ + row, constraint.rows()), K_);
    constraint.add_force_tangent(t, q, x.segment(n_y_ + m_ + row, constraint.rows()), K_mu_);
    constraint.add_velocity_tangent(t, q, v, row, velocity_);
  });
  for (auto* part : {&K_, &C_, &K_mu_, &velocity_}) part->end();
  assemble_jacobian(t, q);

  const int v0 = n_;
  const int s0 = 2 * n_;
  const int lambda0 = n_y_;
  const int mu0 = n_y_ + m_;
  // In the unknowns q, v / c, s, lambda / (m c^2), mu / c and with the equations divided by c, m c^2, c, 1, c, where m
  // is the largest mass, the matrix tends to a limit for small steps and does not depend on the unit of mass, so that
  // its conditioning is that of the constraints.
  const double h = 1.0 / c;
  mass_ = 0.0;
  for (const Matrix4& mass : system_.mass()) mass_ = std::max(mass_, mass.diagonal().maxCoeff());
  const double per_mass = 1.0 / mass_;
  // K_mu and K contain -(Phi' mu)_q and (g - Phi' lambda)_q, so that both enter with a minus. Zero entries are added
  // too: the pattern is the same in every call.
  matrix_.begin();
  add_identity(matrix_, 0, 0, n_, 1.0);
  add_scaled(matrix_, K_mu_.matrix(), 0, 0, -h, false);
  add_identity(matrix_, 0, v0, n_, -1.0);
  add_scaled(matrix_, Phi_q_.matrix(), 0, mu0, 1.0, true);
  add_scaled(matrix_, K_.matrix(), v0, 0, -h * h * per_mass, false);
  add_mass(matrix_, system_.mass(), v0, v0, per_mass);
  add_scaled(matrix_, C_.matrix(), v0, v0, -h * per_mass, false);
  add_scaled(matrix_, Phi_q_.matrix(), v0, lambda0, 1.0, true);
  add_scaled(matrix_, Phi_q_.matrix(), lambda0, 0, 1.0, false);
  add_scaled(matrix_, velocity_.matrix(), mu0, 0, h, false);
  add_scaled(matrix_, Phi_q_.matrix(), mu0, v0, 1.0, false);
  system_.states().linearize(at);
  system_.states().add_blocks(matrix_, 0, v0, s0, {.g = h * h * per_mass, .q = h, .v = 1.0, .s = h});
  matrix_.end();
  c_ = c;
  if (!lu_.factor(matrix_.matrix())) throw RecoverableError("the Newton matrix of the index-2 form is singular");
}

void GglForm::solve(Eigen::Ref<VectorX> b) const {
  // Equations are divided as in factor(); the solution is in q, v / c, s, lambda / (m c^2), mu / c.
  b.head(n_) /= c_;
  b.segment(n_, n_) /= mass_ * c_ * c_;
  b.segment(2 * n_, system_.n_states()) /= c_;
  b.tail(m_) /= c_;
  lu_.solve(b);
  b.segment(n_, n_) *= c_;
  b.segment(n_y_, m_) *= mass_ * c_ * c_;
  b.tail(m_) *= c_;
}

}  // namespace heelstrike::mbs
