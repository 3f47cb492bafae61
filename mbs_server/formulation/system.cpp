#include "mbs_server/formulation/system.hpp"

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/errors/error.hpp"
#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/checks.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"

namespace heelstrike::mbs {

namespace {

/// [1/kg] damping of the multipliers in singular poses, times the inverse of the lightest mass: far below the terms
/// that determine them, far above rounding.
constexpr double singular_damping = 1e-10;

/// The orthogonal factor of the polar decomposition, by Newton's method; none for a matrix that reflects or collapses
/// space, or nearly so.
std::optional<Matrix3> nearest_rotation(const Matrix3& A) {
  Matrix3 R = A;
  constexpr int max_steps = 20;
  for (int step = 0; step < max_steps; ++step) {
    Matrix3 cofactors;
    cofactors << R.col(1).cross(R.col(2)), R.col(2).cross(R.col(0)), R.col(0).cross(R.col(1));
    const double volume = R.col(0).dot(cofactors.col(0));
    constexpr double least = 0.1;
    if (!(volume > least)) return std::nullopt;
    const Matrix3 next = 0.5 * (R + cofactors / volume);
    const double change = (next - R).cwiseAbs().maxCoeff();
    R = next;
    // The convergence is quadratic: the next change would be below rounding.
    if (change < 1e-8) return R;
  }
  return std::nullopt;
}

/// v of the matrix of the product v x.
Vector3 axial(const Matrix3& S) {
  return {S(2, 1), S(0, 2), S(1, 0)};
}

}  // namespace

System::System(const Model& model) : model_(model), n_q_(coordinates_per_body * static_cast<int>(model.bodies.size())) {
  for (std::size_t i = 0; i < model_.bodies.size(); ++i) {
    mass_.push_back(model_.bodies[i].mass_properties.cartesian_mass());
    // Rigid-body rows come first, six per body in the order of the bodies: RigidElimination eliminates them; joint rows
    // start at n_rigid().
    append(std::make_unique<QuadraticConstraint>(
        rigid_body_constraint(model_.bodies[i].name, coordinates_per_body * static_cast<int>(i))));
  }
  const VectorX q0 = initial_q();
  for (const auto& joint : model_.joints) {
    append(joint.make(q0));
    if (joint.map) turn_references_.push_back(joint.map.get());
  }
  for (const auto& driver : model_.drivers) append(driver.make(driver.coordinates));
  resize();
  add_force(std::make_unique<GravityForce>(model_));
  for (const auto& force : model_.forces) add_force(force.make());
  for (const auto& load : model_.loads) add_force(std::make_unique<LoadForce>(load));
}

void System::add_constraint(std::unique_ptr<Constraint> constraint) {
  append(std::move(constraint));
  resize();
}

void System::append(std::unique_ptr<Constraint> constraint) {
  driven_ = driven_ || constraint->depends_on_time();
  n_constraints_ += constraint->rows();
  if (UnilateralConstraint* unilateral_meaning = constraint->unilateral()) {
    unilaterals_.push_back(unilateral_meaning);
    unilateral_places_.push_back(constraints_.size());
  }
  constraints_.push_back(std::move(constraint));
}

template <typename Fill>
void System::for_each_block(Fill fill) const {
  int row = 0;
  for (const auto& constraint : constraints_) {
    fill(*constraint, row);
    row += constraint->rows();
  }
}

void System::resize() {
  const int n_bodies = static_cast<int>(mass_.size());
  const int n_joint_rows = n_constraints_ - n_rigid();
  Phi_q_ = G_q_ = G_v_ = V_q_ = SparseAssembler(n_joint_rows, n_q_);
  full_Phi_q_ = SparseAssembler(n_constraints_, n_q_);
  // Patterns are recorded by the next assembly.
  K_ = C_ = K_s_ = C_s_ = SparseAssembler(n_q_, n_q_);
  saddle_ = RigidElimination(n_bodies, n_joint_rows);
  newton_ = RigidElimination(n_bodies, n_joint_rows);
  first_rows_.clear();
  for_each_block([&](const Constraint&, int row) { first_rows_.push_back(row); });
  g_ = result_.qdd = correction_ = newton_b_ = VectorX::Zero(n_q_);
  gamma_ = result_.lambda = newton_c_ = VectorX::Zero(n_constraints_);
  invalidate_factors();
}

void System::add_force(std::unique_ptr<ForceElement> force) {
  states_.add(*force);
  if (TurnReference* reference = force->turn_reference()) turn_references_.push_back(reference);
  forces_.push_back(std::move(force));
}

VectorX System::turn_references() const {
  std::vector<double> all;
  for (const TurnReference* angles : turn_references_) {
    all.insert(all.end(), angles->reference().begin(), angles->reference().end());
  }
  return Eigen::Map<const VectorX>(all.data(), std::ssize(all));
}

void System::set_turn_references(const ConstVector& values) {
  Eigen::Index first = 0;
  for (TurnReference* angles : turn_references_) {
    const Eigen::Index n = angles->reference().size();
    angles->set_reference(values.segment(first, n));
    first += n;
  }
}

void System::accept_turn_references(const ConstVector& q) {
  // A reference need not be that of the last state, which would discard what is cached at it, but be close to it.
  constexpr double close = 0.5;  // [rad]
  for (TurnReference* angles : turn_references_) {
    const VectorX now = angles->reference_at(q);
    if ((now - angles->reference()).lpNorm<Eigen::Infinity>() > close) angles->set_reference(now);
  }
}

void System::advance_turn_references(const ConstVector& q, const ConstVector& qd, double duration) {
  for (TurnReference* angles : turn_references_) {
    angles->set_reference(angles->reference_at(q) + duration * angles->reference_rates(q, qd));
  }
}

void System::reset_force_patterns() {
  K_ = C_ = K_s_ = C_s_ = SparseAssembler(n_q_, n_q_);
  newton_ = RigidElimination(static_cast<int>(mass_.size()), n_constraints_ - n_rigid());
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

VectorX System::start_y(double t, const ConstVector& q, const ConstVector& qd) const {
  VectorX y(n_y());
  y.head(n_q_) = q;
  y.segment(n_q_, n_q_) = qd;
  states_.start({t, q, qd}, y.tail(n_states()));
  return y;
}

template <typename Fill>
void System::for_each_joint(Fill fill) const {
  int row = 0;
  for (std::size_t i = mass_.size(); i < constraints_.size(); ++i) {
    fill(*constraints_[i], row);
    row += constraints_[i]->rows();
  }
}

void System::evaluate_residual(double t, const ConstVector& q) {
  for (Eigen::Index body = 0; body < n_rigid() / 6; ++body) {
    gamma_.segment<6>(6 * body) = rigid_residual(q.segment<12>(12 * body));
  }
  for_each_joint([&](const Constraint& c, int row) { c.residual(t, q, gamma_.segment(n_rigid() + row, c.rows())); });
}

void System::evaluate_gamma(double t, const ConstVector& q, const ConstVector& qd) {
  for (Eigen::Index body = 0; body < n_rigid() / 6; ++body) {
    const auto qd_b = qd.segment<12>(12 * body);
    // -2 qd' A qd of v_i.v_j = const, by the formula of the Jacobian with qd instead of q.
    gamma_.segment<6>(6 * body) = -rigid_jacobian_times(qd_b, qd_b);
  }
  for_each_joint(
      [&](const Constraint& c, int row) { c.acceleration_rhs(t, q, qd, gamma_.segment(n_rigid() + row, c.rows())); });
}

void System::evaluate_velocity_residual(double t, const ConstVector& q, const ConstVector& qd) {
  for (Eigen::Index body = 0; body < n_rigid() / 6; ++body) {
    gamma_.segment<6>(6 * body) = rigid_jacobian_times(q.segment<12>(12 * body), qd.segment<12>(12 * body));
  }
  for_each_joint(
      [&](const Constraint& c, int row) { c.velocity_rhs(t, q, gamma_.segment(n_rigid() + row, c.rows())); });
  auto joints = gamma_.tail(n_constraints_ - n_rigid());
  joints = -joints;
  // Requires the Jacobian at (t, q): callers assemble it first.
  joints.noalias() += Phi_q_.matrix() * qd;
}

void System::assemble_jacobian(double t, const ConstVector& q) {
  // Integrators evaluate accelerations, energies, roots and projections at the same state; bitwise equal states have
  // equal Jacobians.
  if (jacobian_at_.matches(t, q)) return;
  Phi_q_.begin();
  for_each_joint([&](const Constraint& c, int row) { c.add_jacobian(t, q, row, Phi_q_); });
  Phi_q_.end();
  jacobian_at_.set(t, q);
}

// The matrix of projections and accelerations, W = M and Phi^ = Phi.
bool System::factor_damped_saddle(const ConstVector& q, double damping) {
  saddle_.begin(mass_, q, q);
  saddle_.add_joint_rows(Phi_q_.matrix(), 1.0);
  saddle_.add_joint_columns(Phi_q_.matrix());
  saddle_.add_joint_damping(damping);
  return saddle_.factor();
}

void System::factor_saddle(double t, const ConstVector& q) {
  assemble_jacobian(t, q);
  if (saddle_at_.matches(t, q)) return;
  saddle_at_.valid = false;
  if (!factor_damped_saddle(q, 0.0)) {
    // Singular pose: approximately minimum-norm multipliers by Tikhonov damping. The pivots of the failed matrix are
    // discarded.
    saddle_.reset_factorisation();
    double lightest = std::numeric_limits<double>::infinity();
    // J M^-1 J' is largest for small masses, which set the scale of the damping.
    for (const auto& m : mass_) lightest = std::min(lightest, m(0, 0));
    if (!factor_damped_saddle(q, singular_damping / lightest)) {
      if (!Phi_q_.matrix().coeffs().allFinite()) {
        throw RecoverableError(fmt::format("the derivatives of joints or drivers are not finite at t = {} s", t));
      }
      throw RecoverableError(
          "the constraints are dependent at this configuration: singular position or redundant joints");
    }
  }
  saddle_at_.set(t, q);
}

SparseMatrix System::mass_matrix() const {
  SparseAssembler M(n_q_, n_q_);
  M.begin();
  add_mass(M, mass_);
  M.end();
  return M.matrix();
}

const SparseMatrix& System::jacobian(double t, const ConstVector& q) {
  full_Phi_q_.begin();
  for_each_block([&](const Constraint& c, int row) { c.add_jacobian(t, q, row, full_Phi_q_); });
  full_Phi_q_.end();
  return full_Phi_q_.matrix();
}

VectorX System::residual(double t, const ConstVector& q) const {
  VectorX phi(n_constraints_);
  for_each_block([&](const Constraint& c, int row) { c.residual(t, q, phi.segment(row, c.rows())); });
  return phi;
}

std::string System::find_reversed_driver(double t, const ConstVector& q) const {
  for (const auto& constraint : constraints_) {
    if (!constraint->on_intended_branch(t, q)) return constraint->name();
  }
  return {};
}

VectorX System::prescribed_velocity(double t, const ConstVector& q) const {
  VectorX nu(n_constraints_);
  for_each_block([&](const Constraint& c, int row) { c.velocity_rhs(t, q, nu.segment(row, c.rows())); });
  return nu;
}

VectorX System::velocity_residual(double t, const ConstVector& q, const ConstVector& qd) {
  return jacobian(t, q) * qd - prescribed_velocity(t, q);
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

Vector12 System::constraint_force(std::size_t constraint, BodyIndex body, const SparseMatrix& Phi_q,
                                  const VectorX& lambda) const {
  const int first = first_rows_[constraint];
  const int last = first + constraints_[constraint]->rows();
  Vector12 g = Vector12::Zero();
  for (int k = 0; k < coordinates_per_body; ++k) {
    for (SparseMatrix::InnerIterator it(Phi_q, coordinates_per_body * body + k); it; ++it) {
      // By columns: a column contains the few constraints that depend on this coordinate.
      if (it.row() >= first && it.row() < last) g[k] -= it.value() * lambda[it.row()];
    }
  }
  return g;
}

std::vector<char> System::closed() const {
  std::vector<char> closed;
  for (const UnilateralConstraint* unilateral_meaning : unilaterals_)
    closed.push_back(unilateral_meaning->closed() ? 1 : 0);
  return closed;
}

void System::set_closed(const std::vector<char>& closed) {
  if (closed == this->closed()) return;
  for (std::size_t i = 0; i < unilaterals_.size(); ++i) unilaterals_[i]->set_closed(closed.at(i) != 0);
  n_constraints_ = 0;
  for (const auto& constraint : constraints_) n_constraints_ += constraint->rows();
  resize();
}

double System::joint_force(std::size_t unilateral, const VectorX& lambda) const {
  return unilaterals_[unilateral]->closed() ? -lambda[first_rows_[unilateral_places_[unilateral]]] : 0.0;
}

std::vector<BodyIndex> System::bodies_of(std::size_t constraint) const {
  // A unilateral constraint refers to its bodies whether closed or open.
  UnilateralConstraint* unilateral_meaning = constraints_[constraint]->unilateral();
  SparseAssembler J(unilateral_meaning != nullptr ? 1 : constraints_[constraint]->rows(), n_q_);
  J.begin();
  if (unilateral_meaning != nullptr) {
    unilateral_meaning->gap().add_jacobian(0.0, initial_q(), 0, J);
  } else {
    constraints_[constraint]->add_jacobian(0.0, initial_q(), 0, J);
  }
  J.end();
  std::vector<BodyIndex> bodies;
  for (int column = 0; column < J.matrix().outerSize(); ++column) {
    const BodyIndex body = column / coordinates_per_body;
    if (SparseMatrix::InnerIterator(J.matrix(), column) && (bodies.empty() || bodies.back() != body)) {
      bodies.push_back(body);
    }
  }
  return bodies;
}

const std::string& System::body_of(Eigen::Index coordinate) const {
  return model_.bodies[static_cast<std::size_t>(coordinate / coordinates_per_body)].name;
}

void System::require_finite(const MotionState& at) const {
  for (const auto* part : {&at.q, &at.qd}) {
    const Eigen::Index i = first_not_finite(*part);
    if (i < 0) continue;
    throw RecoverableError(fmt::format("the {} of body '{}' is not finite at t = {} s",
                                       part == &at.q ? "position" : "velocity", body_of(i), at.t));
  }
  if (at.s.allFinite()) return;
  throw RecoverableError(
      fmt::format("a state of '{}' is not finite at t = {} s", states_.name_of(first_not_finite(at.s)), at.t));
}

/// Reports the first force element with a non-finite contribution.
void System::throw_nonfinite_forces(const MotionState& at) {
  std::string name = "their sum";
  std::string body;
  for (std::size_t k = 0; k < forces_.size(); ++k) {
    VectorX g = VectorX::Zero(n_q_);
    EnergyTerms energy;
    forces_[k]->add_forces(states_.of_force(k, at), g, energy);
    const Eigen::Index i = first_not_finite(g);
    if (i < 0 && std::isfinite(energy.potential + energy.dissipated_power + energy.external_power)) continue;
    name = "'" + forces_[k]->name() + "'";
    if (i >= 0) body = fmt::format(" on body '{}'", body_of(i));
    break;
  }
  throw RecoverableError(fmt::format("forces are not finite at t = {} s: {}{}", at.t, name, body));
}

void System::apply_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) {
  require_finite(at);
  g.setZero();
  for (std::size_t k = 0; k < forces_.size(); ++k) forces_[k]->add_forces(states_.of_force(k, at), g, energy);
  if (!g.allFinite() || !std::isfinite(energy.potential + energy.dissipated_power + energy.external_power)) {
    throw_nonfinite_forces(at);
  }
}

void System::append_force_values(const MotionState& at, std::vector<double>& row) const {
  for (std::size_t k = 0; k < forces_.size(); ++k) forces_[k]->append_values(states_.of_force(k, at), row);
}

void System::add_force_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) {
  for (std::size_t k = 0; k < forces_.size(); ++k) forces_[k]->add_tangents(states_.of_force(k, at), K, C);
}

const Accelerations& System::accelerations(const MotionState& at, const Baumgarte& baumgarte) {
  // [M Phi_q'; Phi_q 0] {qdd; lambda} = {g; gamma}, equation (2) of docs/theory/multibody.md differentiated twice.
  auto& [qdd, lambda, energy] = result_;
  energy = {};
  apply_forces(at, g_, energy);
  factor_saddle(at.t, at.q);
  evaluate_gamma(at.t, at.q, at.qd);
  if (baumgarte.active()) add_baumgarte(at.t, at.q, at.qd, baumgarte);
  if (const Eigen::Index row = first_not_finite(gamma_); row >= 0) {
    throw RecoverableError(
        fmt::format("the acceleration prescribed by '{}' is not finite at t = {} s", name_of_row(row), at.t));
  }
  qdd = g_;
  lambda = gamma_;
  saddle_.solve(qdd, lambda, true);
  if (const Eigen::Index i = first_not_finite(qdd); i >= 0) {
    throw RecoverableError(fmt::format("the acceleration of body '{}' is not finite at t = {} s", body_of(i), at.t));
  }
  if (driven_) add_driver_power(at.t, at.q);
  return result_;
}

const VectorX& System::make_response(double t, const ConstVector& q, Eigen::Ref<VectorX> b) {
  factor_saddle(t, q);
  correction_multipliers_.setZero(n_constraints_);
  saddle_.solve(b, correction_multipliers_, false);
  return correction_multipliers_;
}

VectorX System::solve_min_norm_change(double t, const ConstVector& q, VectorX c) {
  factor_saddle(t, q);
  VectorX x = VectorX::Zero(n_q_);
  saddle_.solve(x, c, false);
  return x;
}

/// The forces -Phi_q' lambda of prescribed motion have the power -lambda . (Phi_q qd) = -lambda . nu.
void System::add_driver_power(double t, const ConstVector& q) {
  for_each_block([&](const Constraint& c, int row) {
    if (!c.depends_on_time()) return;
    c.velocity_rhs(t, q, gamma_.head(c.rows()));
    result_.energy.external_power -= result_.lambda.segment(row, c.rows()).dot(gamma_.head(c.rows()));
  });
}

void System::add_baumgarte(double t, const ConstVector& q, const ConstVector& qd, const Baumgarte& baumgarte) {
  VectorX stabilised = gamma_;
  evaluate_velocity_residual(t, q, qd);
  stabilised -= 2.0 * baumgarte.alpha * gamma_;
  evaluate_residual(t, q);
  // gamma_ stores both residuals one after the other.
  gamma_ = stabilised - baumgarte.beta * baumgarte.beta * gamma_;
}

EnergyTerms System::evaluate_energy(const MotionState& at) {
  // The power of drivers requires their multipliers.
  if (driven_) return accelerations(at).energy;
  EnergyTerms energy;
  apply_forces(at, g_, energy);
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
  double twice = 0.0;
  for (std::size_t body = 0; body < mass_.size(); ++body) {
    using Columns = Eigen::Matrix<double, 3, 4>;
    const Eigen::Map<const Columns> velocities(qd.data() + coordinates_per_body * static_cast<Eigen::Index>(body));
    // qd'M qd with M = mass (x) 1_3: the 3x4 matrix of the velocities of origin and axes, times the 4x4 mass.
    twice += velocities.cwiseProduct(velocities * mass_[body]).sum();
  }
  return 0.5 * twice;
}

Violation System::violation(double t, const ConstVector& q, const ConstVector& qd) {
  if (n_constraints_ == 0) return {};
  assemble_jacobian(t, q);
  evaluate_velocity_residual(t, q, qd);
  const double velocity = gamma_.cwiseAbs().maxCoeff();
  evaluate_residual(t, q);
  return {.position = gamma_.cwiseAbs().maxCoeff(), .velocity = velocity};
}

MaxResidual System::find_max_residual(double t, const ConstVector& q, const ConstVector& qd) {
  assemble_jacobian(t, q);
  evaluate_velocity_residual(t, q, qd);
  const VectorX velocity = gamma_.cwiseAbs();
  evaluate_residual(t, q);
  MaxResidual worst;
  Eigen::Index row = 0;
  for (const auto& constraint : constraints_) {
    const Eigen::Index rows = constraint->rows();
    if (rows > 0) {
      const double position_part = gamma_.segment(row, rows).cwiseAbs().maxCoeff();
      const double velocity_part = velocity.segment(row, rows).maxCoeff();
      if (worst.name.empty() || std::max(position_part, velocity_part) > std::max(worst.position, worst.velocity)) {
        worst = {.name = constraint->name(), .position = position_part, .velocity = velocity_part};
      }
    }
    row += rows;
  }
  return worst;
}

int System::project(double t, Eigen::Ref<VectorX> q, Eigen::Ref<VectorX> qd) {
  require_finite({t, q, qd});
  if (n_constraints_ == 0) return 0;
  // Newton's method converges quadratically; a step whose pose does not converge to rounding in ten iterations is too
  // long.
  constexpr int max_iterations = 10;
  // Residuals are sums of few products of order one: a few rounding errors are the attainable accuracy.
  constexpr double tolerance = 1e-14;
  // With factors of a point at distance d an iteration reduces the residual by a factor of order d: below 1e-8 old
  // factors still gain eight digits.
  constexpr double reuse = 1e-8;
  // Coordinates that are sensitive to the pose, such as an angle about an axis that hardly rotates the body, amplify
  // the rounding of q in the residuals: a correction below that rounding cannot improve them.
  constexpr double sensitive = 1e-8;
  double last = std::numeric_limits<double>::infinity();
  double step = std::numeric_limits<double>::infinity();   // of the last iteration
  double moved = std::numeric_limits<double>::infinity();  // since the last factorisation
  for (int iteration = 0; iteration <= max_iterations; ++iteration) {
    evaluate_residual(t, q);
    if (const Eigen::Index row = first_not_finite(gamma_); row >= 0) {
      throw RecoverableError(fmt::format("'{}' is not finite at t = {} s", name_of_row(row), t));
    }
    const double residual = gamma_.cwiseAbs().maxCoeff();
    // Converged, or limited by rounding: far from the origin by that of the positions.
    const double size = std::max(1.0, q.lpNorm<Eigen::Infinity>());
    const double stagnation = 1e-11 * size;
    const bool is_rounding = step <= 4.0 * std::numeric_limits<double>::epsilon() * size && residual < sensitive;
    const bool converged = residual <= tolerance || is_rounding || (residual < stagnation && residual >= 0.5 * last);
    // Old factors are too far away where the residual is above rounding and hardly reduced.
    const bool is_slow = !converged && moved > 0.0 && residual > stagnation && residual > 0.1 * last;
    if (moved > reuse || is_slow) {
      factor_saddle(t, q);
      moved = 0.0;
    }
    if (converged) {
      project_velocity(t, q, qd, moved);
      require_finite({t, q, qd});
      return iteration;
    }
    last = residual;
    correction_.setZero();
    gamma_ = -gamma_;
    // b = 0 and c = -Phi: the change of minimum M-weighted norm.
    saddle_.solve(correction_, gamma_, false);
    q += correction_;
    step = correction_.cwiseAbs().maxCoeff();
    moved += step;
  }
  evaluate_residual(t, q);
  throw RecoverableError(
      fmt::format("projection onto the constraints did not converge in {} iterations (largest "
                  "residual {:g}, in '{}')",
                  max_iterations, last, name_of_maximum(gamma_)));
}

void System::restore_rigid_bodies(Eigen::Ref<VectorX> q, Eigen::Ref<VectorX> qd) const {
  for (std::size_t body = 0; body < mass_.size(); ++body) {
    const auto first = coordinates_per_body * static_cast<Eigen::Index>(body);
    const MassProperties& of = model_.bodies[body].mass_properties;
    const Pose X_WB = pose_from_coordinates(q.segment<12>(first));
    const Pose rates = pose_from_coordinates(qd.segment<12>(first));
    const std::optional<Matrix3> R = nearest_rotation(X_WB.R);
    if (!R) {
      throw RecoverableError(fmt::format("body '{}' rotates too far in a step", model_.bodies[body].name));
    }
    const Matrix3 J = 0.5 * of.inertia.trace() * Matrix3::Identity() - of.inertia;
    // b a' - a b' is the matrix of the product a x b.
    const Matrix3 S = rates.R * J * X_WB.R.transpose();
    const Vector3 L = axial(S - S.transpose());
    const Vector3 w = *R * of.inertia.llt().solve(R->transpose() * L);
    const Vector3 p_WC = X_WB * of.center_of_mass, v_WC = rates * of.center_of_mass;
    const Vector3 p_BC_W = *R * of.center_of_mass;
    const Pose restored{.R = *R, .p = p_WC - p_BC_W};
    q.segment<12>(first) = coordinates_from_pose(restored);
    qd.segment<12>(first) = rates_from_twist(restored, {.w = w, .v = v_WC - w.cross(p_BC_W)});
  }
}

void System::project_velocity(double t, const ConstVector& q, Eigen::Ref<VectorX> qd, double moved) {
  assemble_jacobian(t, q);
  evaluate_velocity_residual(t, q, qd);
  // With factors of a point at distance d, a residual r is reduced to the order of d r.
  constexpr double tolerance = 1e-16;
  if (moved * gamma_.cwiseAbs().maxCoeff() > tolerance) factor_saddle(t, q);
  correction_.setZero();
  gamma_ = -gamma_;
  saddle_.solve(correction_, gamma_, false);
  qd += correction_;
}

double System::compute_min_singular_value(double t, const ConstVector& q, std::string* dependent_joint) {
  const Eigen::Index n_joint_rows = n_constraints_ - n_rigid();
  if (n_joint_rows == 0) return std::numeric_limits<double>::infinity();
  factor_saddle(t, q);
  // [M J'; J 0] {x; l} = {0; c} gives l = -(J M^-1 J')^-1 c.
  // The start vector must not be orthogonal to the required direction; the sine breaks the symmetry of typical
  // linkages and is reproducible.
  VectorX c = VectorX::Zero(n_constraints_);
  for (Eigen::Index i = 0; i < n_joint_rows; ++i) c[n_rigid() + i] = 1.0 + 0.3 * std::sin(static_cast<double>(i));
  double growth = 0.0;
  // Near a singular pose the smallest singular value is orders of magnitude below the others, and every iteration
  // reduces the error by their squared ratio.
  constexpr int iterations = 4;
  for (int i = 0; i < iterations; ++i) {
    c.head(n_rigid()).setZero();  // solve() leaves these rows undefined
    c /= c.norm();
    correction_.setZero();
    saddle_.solve(correction_, c, false);
    // Towards the largest eigenvalue of (J M^-1 J')^-1, 1 / s^2.
    growth = c.tail(n_joint_rows).norm();
  }
  if (dependent_joint != nullptr) {
    c.head(n_rigid()).setZero();
    *dependent_joint = name_of_maximum(c);
  }
  return 1.0 / std::sqrt(growth);
}

std::string System::name_of_maximum(const VectorX& rows) const {
  Eigen::Index row = 0;
  rows.cwiseAbs().maxCoeff(&row);
  return name_of_row(row);
}

std::string System::name_of_row(Eigen::Index row) const {
  std::string name;
  for_each_block([&](const Constraint& c, int first) {
    if (row >= first && row < first + c.rows()) name = c.name();
  });
  return name;
}

void System::linearize(const MotionState& at) {
  (void)accelerations(at);
  K_.read_columns({});
  linearize_result(at);
}

void System::linearize_along(const MotionState& at, const Eigen::Ref<const Eigen::MatrixXd>& X_q) {
  // The directions are solutions of linear systems: bodies at rest have entries of rounding errors.
  const double at_rest = 1e-12 * X_q.lpNorm<Eigen::Infinity>();
  std::vector<bool> moved(static_cast<std::size_t>(n_q_), false);
  for (Eigen::Index i = 0; i < n_q_; ++i) {
    moved[static_cast<std::size_t>(i)] = X_q.row(i).lpNorm<Eigen::Infinity>() > at_rest;
  }
  K_.read_columns(std::move(moved));
  linearize_result(at);
}

/// About the last accelerations().
void System::linearize_result(const MotionState& at) {
  const Accelerations& at_state = result_;
  // Stored: CVODE and ARKODE factor the same linearisation again when only gamma changes.
  lin_q_ = at.q;
  lin_qd_ = at.qd;
  lin_qdd_ = at_state.qdd;
  lin_lambda_ = at_state.lambda;
  lin_Phi_q_ = Phi_q_.matrix();
  K_.begin();
  C_.begin();
  G_q_.begin();
  G_v_.begin();
  add_force_tangents(at, K_, C_);
  for_each_joint([&](const Constraint& c, int row) {
    c.add_force_tangent(at.t, at.q, lin_lambda_.segment(n_rigid() + row, c.rows()), K_);
    c.add_acceleration_tangents(at.t, at.q, at.qd, lin_qdd_, row, G_q_, G_v_);
  });
  K_.end();
  C_.end();
  G_q_.end();
  G_v_.end();
  states_.linearize(at);
}

void System::factor_newton(double gamma) {
  newton_gamma_ = gamma;
  newton_mass_ = mass_;
  for (std::size_t body = 0; body < mass_.size(); ++body) {
    newton_mass_[body] +=
        gamma * gamma * rigid_multiplier_matrix(lin_lambda_.segment<6>(6 * static_cast<Eigen::Index>(body)));
  }
  // Phi_q - gamma G_v - gamma^2 G_q of the rigid bodies is Phi_q at q^, because Phi is quadratic.
  q_hat_ = lin_q_ + 2.0 * gamma * lin_qd_ + gamma * gamma * lin_qdd_;
  newton_.begin(newton_mass_, lin_q_, q_hat_);
  newton_.add(C_.matrix(), -gamma);
  newton_.add(K_.matrix(), -gamma * gamma);
  if (n_states() > 0) eliminate_states(gamma);
  newton_.add_joint_columns(lin_Phi_q_);
  newton_.add_joint_rows(lin_Phi_q_, 1.0);
  newton_.add_joint_rows(G_v_.matrix(), -gamma);
  newton_.add_joint_rows(G_q_.matrix(), -gamma * gamma);
  if (!newton_.factor()) throw RecoverableError("the Newton matrix of the step is singular");
}

void System::eliminate_states(double gamma) {
  states_.factor(1.0 / gamma);
  K_s_.begin();
  C_s_.begin();
  states_.add_condensed_tangents(K_s_, C_s_);
  K_s_.end();
  C_s_.end();
  newton_.add(C_s_.matrix(), -gamma);
  newton_.add(K_s_.matrix(), -gamma * gamma);
}

void System::solve_newton(Eigen::Ref<VectorX> b) {
  const double gamma = newton_gamma_;
  auto x_q = b.head(n_q_);
  auto x_v = b.segment(n_q_, n_q_);
  auto x_s = b.segment(2 * n_q_, n_states());
  // b_q + gamma b_v: change of the positions without acceleration.
  shift_ = x_q + gamma * x_v;
  newton_b_.noalias() = K_.matrix() * shift_;
  newton_b_.noalias() += C_.matrix() * x_v;
  if (n_states() > 0) {
    x_s /= gamma;
    newton_b_.noalias() += K_s_.matrix() * shift_;
    newton_b_.noalias() += C_s_.matrix() * x_v;
    states_.add_condensed_forces(x_s, newton_b_);
  }
  add_constraint_changes(shift_, x_v);
  newton_.solve(newton_b_, newton_c_, false);
  // newton_b_ is da: x_v = b_v + gamma da, x_q = b_q + gamma x_v, then the states.
  x_v += gamma * newton_b_;
  x_q += gamma * x_v;
  states_.solve(x_q, x_v, x_s);
}

VectorX System::rate_change(const ConstVector& dy) {
  const auto x_q = dy.head(n_q_), x_v = dy.segment(n_q_, n_q_);
  VectorX change(n_y());
  newton_b_.noalias() = K_.matrix() * x_q;
  newton_b_.noalias() += C_.matrix() * x_v;
  states_.change(x_q, x_v, dy.tail(n_states()), change.tail(n_states()), newton_b_);
  add_constraint_changes(x_q, x_v);
  // Factored by linearize(): the Newton matrix with gamma = 0.
  saddle_.solve(newton_b_, newton_c_, false);
  change.head(n_q_) = x_v;
  change.segment(n_q_, n_q_) = newton_b_;
  return change;
}

Eigen::MatrixXd System::rate_changes_along(const MotionState& at, const Eigen::Ref<const Eigen::MatrixXd>& X_q,
                                           Eigen::MatrixXd C) {
  V_q_.begin();
  for_each_joint([&](const Constraint& joint, int row) { joint.add_velocity_tangent(at.t, at.q, at.qd, row, V_q_); });
  V_q_.end();
  C.bottomRows(n_constraints_ - n_rigid()) -= V_q_.matrix() * X_q;
  Eigen::MatrixXd X_v(X_q.rows(), X_q.cols());
  for (Eigen::Index j = 0; j < X_q.cols(); ++j) {
    for (Eigen::Index body = 0; body < n_rigid() / 6; ++body) {
      C.col(j).segment<6>(6 * body) -=
          rigid_jacobian_times(at.qd.segment<12>(12 * body), X_q.col(j).segment<12>(12 * body));
    }
    X_v.col(j) = solve_min_norm_change(at.t, at.q, C.col(j));
  }
  return X_v;
}

VectorX System::multiplier_change(const ConstVector& x_q, const ConstVector& x_v) {
  newton_b_.noalias() = K_.matrix() * x_q;
  newton_b_.noalias() += C_.matrix() * x_v;
  add_constraint_changes(x_q, x_v);
  // Factored by linearize(), as for rate_change().
  saddle_.solve(newton_b_, newton_c_, true);
  return newton_c_;
}

void System::add_constraint_changes(const ConstVector& x_q, const ConstVector& x_v) {
  for (Eigen::Index body = 0; body < n_rigid() / 6; ++body) {
    const auto at = 12 * body;
    // Right-hand side of the rigid bodies: -(Phi' lambda)_q = -Lambda (x) 1_3 in place of K, and G_q, G_v from qdd
    // and qd.
    const Matrix4 Lambda = rigid_multiplier_matrix(lin_lambda_.segment<6>(6 * body));
    using Columns = Eigen::Matrix<double, 3, 4>;
    Eigen::Map<Columns>(newton_b_.data() + at) -= Eigen::Map<const Columns>(x_q.data() + at) * Lambda;
    newton_c_.segment<6>(6 * body) = -rigid_jacobian_times(lin_qdd_.segment<12>(at), x_q.segment<12>(at)) -
                                     2.0 * rigid_jacobian_times(lin_qd_.segment<12>(at), x_v.segment<12>(at));
  }
  auto joints = newton_c_.tail(n_constraints_ - n_rigid());
  joints.noalias() = G_q_.matrix() * x_q;
  joints.noalias() += G_v_.matrix() * x_v;
}

void System::invalidate_factors() {
  jacobian_at_.valid = saddle_at_.valid = false;
}

void System::reset_factorisation() {
  saddle_.reset_factorisation();
  newton_.reset_factorisation();
  invalidate_factors();
}

}  // namespace heelstrike::mbs
