#include "mbs_server/formulation/static_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

StaticForm::StaticForm(System& system)
    : system_(system),
      n_(system.n_q()),
      m_(system.n_constraints()),
      K_(n_, n_),
      unused_C_(n_, n_),
      matrix_(static_cast<int>(system.mass().size()),
              m_ - rigid_constraints_per_body * static_cast<int>(system.mass().size())),
      g_(n_),
      zero_(VectorX::Zero(n_)),
      s_(system.start_y(0.0, system.initial_q(), zero_).tail(system.n_states())) {}

MotionState StaticForm::at_rest(double t, const ConstVector& x) {
  const auto q = x.head(n_);
  // Initial guess from the states of the last pose: Newton steps towards equilibrium move the bodies little.
  system_.states().solve_along({t, q, zero_}, 0.0, VectorX::Zero(s_.size()), s_);
  return {t, q, zero_, s_};
}

void StaticForm::residual(double t, const ConstVector& x, Eigen::Ref<VectorX> F) {
  const auto q = x.head(n_);
  EnergyTerms unused;
  system_.apply_forces(at_rest(t, x), g_, unused);
  F.head(n_) = system_.jacobian(t, q).transpose() * x.tail(m_) - g_;
  F.tail(m_) = system_.residual(t, q);
  if (!F.allFinite()) {
    throw RecoverableError(fmt::format("joints and drivers prescribe a non-finite pose at t = {} s", t));
  }
}

double StaticForm::force_scale(double t, const ConstVector& x) {
  const auto q = x.head(n_);
  double scale = (system_.jacobian(t, q).transpose() * x.tail(m_)).lpNorm<Eigen::Infinity>();
  // Maximum over partial sums of the forces: where weight and contact force cancel in equilibrium, it is the weight, so
  // that the scale does not vanish.
  g_.setZero();
  EnergyTerms unused;
  const MotionState at = at_rest(t, x);
  for (std::size_t k = 0; k < system_.forces().size(); ++k) {
    system_.forces()[k]->add_forces(system_.states().of_force(k, at), g_, unused);
    scale = std::max(scale, g_.lpNorm<Eigen::Infinity>());
  }
  return scale;
}

void StaticForm::factor(double t, const ConstVector& x, double shift) {
  const auto q = x.head(n_);
  const auto n_bodies = static_cast<int>(system_.mass().size());
  const int n_rigid = rigid_constraints_per_body * n_bodies;
  const MotionState at = at_rest(t, x);
  // Velocities are zero, so that damping has no effect; its tangents are discarded.
  unused_C_.begin();
  K_.begin();
  system_.add_force_tangents(at, K_, unused_C_);
  system_.states().linearize(at);
  system_.states().factor(0.0);
  system_.states().add_condensed_tangents(K_, unused_C_);
  int row = 0;
  for (const auto& constraint : system_.constraints()) {
    // Those of the rigid bodies are 4x4 blocks times 1_3 and are added to W below.
    if (row >= n_rigid) constraint->add_force_tangent(t, q, x.segment(n_ + row, constraint->rows()), K_);
    row += constraint->rows();
  }
  K_.end();
  unused_C_.end();
  max_stiffness_ = K_.matrix().nonZeros() == 0 ? 0.0 : K_.matrix().coeffs().cwiseAbs().maxCoeff();
  // Zero entries of tangents are accurate only to rounding: rounding errors in unsupported directions must not act as
  // stiffness nor make the matrix singular.
  constexpr double rounding = 1e-12;
  double min_mass = std::numeric_limits<double>::infinity();
  for (const Matrix4& m : system_.mass()) min_mass = std::min(min_mass, m(0, 0));
  shift = std::max(shift, rounding * max_stiffness_ / min_mass);
  std::vector<Matrix4> W = system_.mass();
  for (int body = 0; body < n_bodies; ++body) {
    W[static_cast<std::size_t>(body)] *= shift;
    W[static_cast<std::size_t>(body)] += rigid_multiplier_matrix(x.segment<6>(n_ + 6 * body));
  }
  joint_Phi_q_ = system_.jacobian(t, q).bottomRows(m_ - n_rigid);
  matrix_.begin(W, q, q);
  matrix_.add(K_.matrix(), -1.0);
  matrix_.add_joint_columns(joint_Phi_q_);
  matrix_.add_joint_rows(joint_Phi_q_, 1.0);
  if (!matrix_.factor()) throw RecoverableError("the stiffness matrix is singular");
}

void StaticForm::solve(Eigen::Ref<VectorX> b) {
  matrix_.solve(b.head(n_), b.tail(m_), true);
}

}  // namespace heelstrike::mbs
