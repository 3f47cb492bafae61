#include "mbs_server/formulation/system.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/driver.hpp"
#include "mbs_server/formulation/gravity_force.hpp"
#include "mbs_server/formulation/joint_registry.hpp"
#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"
#include "mbs_server/formulation/sparse_blocks.hpp"

namespace heelstrike::mbs {
namespace {

/// [1/kg] damping of the multipliers in singular poses, times the inverse of the lightest mass: far below everything
/// that determines them, far above rounding.
constexpr double singular_damping = 1e-10;

}  // namespace

System::System(const Model& model) : model_(model), n_q_(coordinates_per_body * static_cast<int>(model.bodies.size())) {
  for (std::size_t i = 0; i < model_.bodies.size(); ++i) {
    mass_.push_back(model_.bodies[i].mass_properties.cartesian_mass());
    append(std::make_unique<QuadraticConstraint>(
        rigid_body_constraint(model_.bodies[i].name, coordinates_per_body * static_cast<int>(i))));
  }
  const VectorX q0 = initial_q();
  for (const auto& joint : model_.joints) append(make_joint(model_, joint, q0));
  for (const auto& driver : model_.drivers) append(make_driver(model_, driver));
  resize();
  add_force(std::make_unique<GravityForce>(model_));
  for (std::size_t i = 0; i < model_.loads.size(); ++i) {
    add_force(std::make_unique<LoadForce>(fmt::format("load {}", i), model_.loads[i]));
  }
}

void System::add_constraint(std::unique_ptr<Constraint> constraint) {
  append(std::move(constraint));
  resize();
}

void System::append(std::unique_ptr<Constraint> constraint) {
  driven_ = driven_ || constraint->depends_on_time();
  n_constraints_ += constraint->rows();
  constraints_.push_back(std::move(constraint));
}

void System::resize() {
  const int n = n_q_ + n_constraints_;
  Phi_q_ = SparseAssembler(n_constraints_, n_q_);
  saddle_ = SparseAssembler(n, n);
  newton_ = SparseAssembler(n, n);
  K_ = SparseAssembler(n_q_, n_q_);
  C_ = SparseAssembler(n_q_, n_q_);
  G_q_ = SparseAssembler(n_constraints_, n_q_);
  G_v_ = SparseAssembler(n_constraints_, n_q_);
  g_ = qdd_ = VectorX::Zero(n_q_);
  gamma_ = lambda_ = VectorX::Zero(n_constraints_);
  rhs_ = newton_rhs_ = VectorX::Zero(n);
  saddle_lu_ = SparseLu();
  newton_lu_ = SparseLu();
}

void System::add_force(std::unique_ptr<ForceElement> force) {
  forces_.push_back(std::move(force));
}

VectorX System::initial_q() const {
  VectorX q(n_q_);
  for (std::size_t i = 0; i < model_.bodies.size(); ++i) {
    q.segment<12>(12 * static_cast<Eigen::Index>(i)) = coordinates_from_pose(model_.bodies[i].X_WB);
  }
  return q;
}

VectorX System::initial_qd() const {
  VectorX qd(n_q_);
  for (std::size_t i = 0; i < model_.bodies.size(); ++i) {
    qd.segment<12>(12 * static_cast<Eigen::Index>(i)) = rates_from_twist(model_.bodies[i].X_WB, model_.bodies[i].V_WB);
  }
  return qd;
}

template <typename Fill>
void System::for_each_block(Fill fill) const {
  int row = 0;
  for (const auto& constraint : constraints_) {
    fill(*constraint, row);
    row += constraint->rows();
  }
}

void System::evaluate_gamma(double t, const ConstVector& q, const ConstVector& qd) {
  for_each_block([&](const Constraint& c, int row) { c.acceleration_rhs(t, q, qd, gamma_.segment(row, c.rows())); });
}

void System::assemble_jacobian(double t, const ConstVector& q) {
  Phi_q_.begin();
  for_each_block([&](const Constraint& c, int row) { c.add_jacobian(t, q, row, Phi_q_); });
  Phi_q_.end();
}

bool System::factor_damped_saddle(double damping) {
  saddle_.begin();
  add_mass(saddle_, mass_);
  add_scaled(saddle_, Phi_q_.matrix(), n_q_, 0, 1.0, false);
  add_scaled(saddle_, Phi_q_.matrix(), 0, n_q_, 1.0, true);
  for (int i = n_q_; i < n_q_ + n_constraints_; ++i) saddle_.add(i, i, -damping);
  saddle_.end();
  return saddle_lu_.factor(saddle_.matrix());
}

void System::factor_saddle() {
  if (factor_damped_saddle(0.0)) return;
  // A singular pose: the smallest multipliers that do the work, by Tikhonov's damping.
  saddle_lu_.forget_pivots();
  double lightest = std::numeric_limits<double>::infinity();
  for (const auto& m : mass_) lightest = std::min(lightest, m(0, 0));
  if (!factor_damped_saddle(singular_damping / lightest)) {
    throw RecoverableError(
        "the constraints are dependent at this configuration: singular position or redundant joints");
  }
}

SparseMatrix System::mass_matrix() const {
  SparseAssembler M(n_q_, n_q_);
  M.begin();
  add_mass(M, mass_);
  M.end();
  return M.matrix();
}

const SparseMatrix& System::jacobian(double t, const ConstVector& q) {
  assemble_jacobian(t, q);
  return Phi_q_.matrix();
}

VectorX System::residual(double t, const ConstVector& q) const {
  VectorX phi(n_constraints_);
  for_each_block([&](const Constraint& c, int row) { c.residual(t, q, phi.segment(row, c.rows())); });
  return phi;
}

VectorX System::velocity_residual(double t, const ConstVector& q, const ConstVector& qd) {
  VectorX nu(n_constraints_);
  for_each_block([&](const Constraint& c, int row) { c.velocity_rhs(t, q, nu.segment(row, c.rows())); });
  return jacobian(t, q) * qd - nu;
}

void System::keep_rows(const std::vector<int>& kept) {
  int first = 0;
  int rows = 0;
  for (const auto& constraint : constraints_) {
    const int n = constraint->rows();
    std::vector<int> own;
    for (const int row : kept) {
      if (row >= first && row < first + n) own.push_back(row - first);
    }
    if (static_cast<int>(own.size()) != n) constraint->keep_rows(own);
    rows += constraint->rows();
    first += n;
  }
  n_constraints_ = rows;
  resize();
}

VectorX System::constraint_forces(std::size_t constraint, double t, const ConstVector& q) const {
  const Constraint& c = *constraints_[constraint];
  int row = 0;
  for (std::size_t i = 0; i < constraint; ++i) row += constraints_[i]->rows();
  SparseAssembler J(c.rows(), n_q_);
  J.begin();
  c.add_jacobian(t, q, 0, J);
  J.end();
  return -(J.matrix().transpose() * lambda_.segment(row, c.rows()));
}

void System::solve_accelerations(double t, const ConstVector& q, const ConstVector& qd, const Baumgarte& baumgarte) {
  g_.setZero();
  energy_ = {};
  for (const auto& force : forces_) force->add_forces(t, q, qd, g_, energy_);
  assemble_jacobian(t, q);
  factor_saddle();
  evaluate_gamma(t, q, qd);
  if (baumgarte.active()) add_baumgarte(t, q, qd, baumgarte);
  rhs_ << g_, gamma_;
  saddle_lu_.solve(rhs_);
  qdd_ = rhs_.head(n_q_);
  lambda_ = rhs_.tail(n_constraints_);
  if (driven_) add_driver_power(t, q);
}

/// The forces -Phi_q' lambda of prescribed motion have the power -lambda . (Phi_q qd) = -lambda . nu.
void System::add_driver_power(double t, const ConstVector& q) {
  for_each_block([&](const Constraint& c, int row) {
    if (!c.depends_on_time()) return;
    c.velocity_rhs(t, q, rhs_.head(c.rows()));
    energy_.external_power -= lambda_.segment(row, c.rows()).dot(rhs_.head(c.rows()));
  });
}

void System::add_baumgarte(double t, const ConstVector& q, const ConstVector& qd, const Baumgarte& baumgarte) {
  VectorX level(n_constraints_);
  for_each_block([&](const Constraint& c, int row) { c.velocity_rhs(t, q, level.segment(row, c.rows())); });
  gamma_ -= 2.0 * baumgarte.alpha * (Phi_q_.matrix() * qd - level);
  for_each_block([&](const Constraint& c, int row) { c.residual(t, q, level.segment(row, c.rows())); });
  gamma_ -= baumgarte.beta * baumgarte.beta * level;
}

EnergyTerms System::evaluate_energy(double t, const ConstVector& q, const ConstVector& qd) {
  if (driven_) {
    solve_accelerations(t, q, qd);
    return energy_;
  }
  EnergyTerms energy;
  for (const auto& force : forces_) force->add_forces(t, q, qd, g_, energy);
  return energy;
}

void System::multiply_mass(const ConstVector& x, Eigen::Ref<VectorX> y) const {
  for (std::size_t body = 0; body < mass_.size(); ++body) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(body);
    for (int k = 0; k < 4; ++k) {
      Vector3 sum = Vector3::Zero();
      for (int l = 0; l < 4; ++l) sum += mass_[body](k, l) * x.segment<3>(first + 3 * l);
      y.segment<3>(first + 3 * k) = sum;
    }
  }
}

double System::kinetic_energy(const ConstVector& qd) const {
  VectorX p(n_q_);
  multiply_mass(qd, p);
  return 0.5 * qd.dot(p);
}

Violation System::violation(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_constraints_ == 0) return {};
  assemble_jacobian(t, q);
  for_each_block([&](const Constraint& c, int row) { c.velocity_rhs(t, q, gamma_.segment(row, c.rows())); });
  const double velocity = (Phi_q_.matrix() * qd - gamma_).cwiseAbs().maxCoeff();
  for_each_block([&](const Constraint& c, int row) { c.residual(t, q, gamma_.segment(row, c.rows())); });
  return {.position = gamma_.cwiseAbs().maxCoeff(), .velocity = velocity};
}

int System::project(double t, Eigen::Ref<VectorX> q, Eigen::Ref<VectorX> qd) {
  if (n_constraints_ == 0) return 0;
  constexpr int max_iterations = 10;
  // Residuals are sums of a handful of products of order one: a few rounding errors are all that can be asked for.
  constexpr double tolerance = 1e-14;
  double last = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration <= max_iterations; ++iteration) {
    for_each_block([&](const Constraint& c, int row) { c.residual(t, q, gamma_.segment(row, c.rows())); });
    const double residual = gamma_.cwiseAbs().maxCoeff();
    assemble_jacobian(t, q);
    factor_saddle();
    // Converged, or as small as rounding lets it become.
    if (residual <= tolerance || (residual < 1e-11 && residual >= 0.5 * last)) {
      for_each_block([&](const Constraint& c, int row) { c.velocity_rhs(t, q, gamma_.segment(row, c.rows())); });
      rhs_.head(n_q_).setZero();
      rhs_.tail(n_constraints_) = gamma_ - Phi_q_.matrix() * qd;
      saddle_lu_.solve(rhs_);
      qd += rhs_.head(n_q_);
      return iteration;
    }
    last = residual;
    rhs_.head(n_q_).setZero();
    rhs_.tail(n_constraints_) = -gamma_;
    saddle_lu_.solve(rhs_);
    q += rhs_.head(n_q_);
  }
  throw RecoverableError(
      fmt::format("projection onto the constraints did not converge in {} iterations (largest "
                  "residual {:g})",
                  max_iterations, last));
}

void System::project_tangent(Eigen::Ref<VectorX> dq, Eigen::Ref<VectorX> dqd) {
  if (n_constraints_ == 0) return;
  for (auto* d : {&dq, &dqd}) {
    rhs_.head(n_q_).setZero();
    rhs_.tail(n_constraints_) = -(Phi_q_.matrix() * *d);
    saddle_lu_.solve(rhs_);
    *d += rhs_.head(n_q_);
  }
}

void System::linearize(double t, const ConstVector& q, const ConstVector& qd) {
  solve_accelerations(t, q, qd);
  K_.begin();
  C_.begin();
  G_q_.begin();
  G_v_.begin();
  for (const auto& force : forces_) force->add_tangents(t, q, qd, K_, C_);
  for_each_block([&](const Constraint& c, int row) {
    c.add_force_tangent(t, q, lambda_.segment(row, c.rows()), K_);
    c.add_acceleration_tangents(t, q, qd, qdd_, row, G_q_, G_v_);
  });
  K_.end();
  C_.end();
  G_q_.end();
  G_v_.end();
}

void System::factor_newton(double gamma) {
  newton_gamma_ = gamma;
  newton_.begin();
  add_mass(newton_, mass_);
  add_scaled(newton_, C_.matrix(), 0, 0, -gamma, false);
  add_scaled(newton_, K_.matrix(), 0, 0, -gamma * gamma, false);
  add_scaled(newton_, Phi_q_.matrix(), 0, n_q_, 1.0, true);
  add_scaled(newton_, Phi_q_.matrix(), n_q_, 0, 1.0, false);
  add_scaled(newton_, G_v_.matrix(), n_q_, 0, -gamma, false);
  add_scaled(newton_, G_q_.matrix(), n_q_, 0, -gamma * gamma, false);
  newton_.end();
  if (!newton_lu_.factor(newton_.matrix())) throw RecoverableError("the Newton matrix of the step is singular");
}

void System::solve_newton(Eigen::Ref<VectorX> x_q, Eigen::Ref<VectorX> x_v) {
  const double gamma = newton_gamma_;
  const VectorX s = x_q + gamma * x_v;
  newton_rhs_.head(n_q_) = K_.matrix() * s + C_.matrix() * x_v;
  newton_rhs_.tail(n_constraints_) = G_q_.matrix() * s + G_v_.matrix() * x_v;
  newton_lu_.solve(newton_rhs_);
  x_v += gamma * newton_rhs_.head(n_q_);
  x_q += gamma * x_v;
}

void System::forget_pivots() {
  saddle_lu_.forget_pivots();
  newton_lu_.forget_pivots();
}

}  // namespace heelstrike::mbs
