/// Equations of motion of a constrained multibody system in fully Cartesian coordinates:
///
///   M qdd + Phi_q' lambda = g(q, qd, s, t),   ds/dt = f(q, qd, s, t),   Phi(q, t) = 0     (Melo 2023, eqs 3.5, 3.6)
///
/// with the internal states s of force elements, which follow the coordinates and their rates: y = {q, qd, s}. M is
/// constant, all matrices are sparse, the rigid-body constraints are eliminated in closed form (RigidElimination).
/// Provides integrators with accelerations and multipliers (index 1), projection onto the constraints, and the
/// solution of the Newton systems of implicit methods with exact tangents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/element_states.hpp"
#include "mbs_server/formulation/force_element.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"
#include "mbs_server/formulation/rigid_elimination.hpp"
#include "mbs_server/formulation/turn_reference.hpp"

namespace heelstrike::mbs {

/// Largest residual of the constraints.
struct Violation {
  double position = 0.0;  ///< max |Phi|
  double velocity = 0.0;  ///< max |Phi_q qd - nu|
};

/// Stabilisation of the acceleration constraints, gamma - 2 alpha (Phi_q qd - nu) - beta^2 Phi ([baumgarte1972];
/// [machado2012] eq. 3.38). Zero = none.
struct Baumgarte {
  double alpha = 0.0;  ///< [1/s]
  double beta = 0.0;   ///< [1/s]
  [[nodiscard]] bool active() const { return alpha != 0.0 || beta != 0.0; }
};

/// The constraint with the largest residual.
struct MaxResidual {
  std::string name;       ///< empty when there are no constraints
  double position = 0.0;  ///< max |Phi|
  double velocity = 0.0;  ///< max |Phi_q qd - nu|
};

/// Solution of the equations of motion at one state.
struct Accelerations {
  VectorX qdd;         ///< [m/s^2, 1/s^2] per coordinate
  VectorX lambda;      ///< multipliers, one per constraint row
  EnergyTerms energy;  ///< of all forces and drivers
};

class System {
 public:
  /// Adds bodies with their rigid-body constraints, joints, drivers, gravity and loads of `model`, in this order;
  /// further forces are added afterwards.
  explicit System(const Model& model);
  System(const System&) = delete;  // the factored systems refer to members
  System& operator=(const System&) = delete;

  void add_constraint(std::unique_ptr<Constraint> constraint);
  /// M, sparse.
  [[nodiscard]] SparseMatrix mass_matrix() const;
  /// nu, the velocity that constraints prescribe, one entry per row of Phi
  [[nodiscard]] VectorX prescribed_velocity(double t, const ConstVector& q) const;
  /// Phi_q qd - nu
  [[nodiscard]] VectorX velocity_residual(double t, const ConstVector& q, const ConstVector& qd);
  /// Phi_q at a state, all rows; for rank checks.
  [[nodiscard]] const SparseMatrix& jacobian(double t, const ConstVector& q);
  /// Phi at a state.
  [[nodiscard]] VectorX residual(double t, const ConstVector& q) const;
  /// Name of a driver whose constraint is satisfied half a turn away from the intended branch; empty = none.
  [[nodiscard]] std::string find_reversed_driver(double t, const ConstVector& q) const;
  /// Keeps only the given rows (increasing).
  void keep_rows(const std::vector<int>& kept);
  /// Generalised forces -Phi_q' lambda of one constraint alone on one body.
  /// @param Phi_q   of all rows, from jacobian()
  /// @param lambda  multipliers of all rows at the same state, from accelerations()
  [[nodiscard]] Vector12 constraint_force(std::size_t constraint, BodyIndex body, const SparseMatrix& Phi_q,
                                          const VectorX& lambda) const;
  /// Unilateral constraints in the order of the file; initially all are open.
  [[nodiscard]] const std::vector<UnilateralConstraint*>& unilaterals() const { return unilaterals_; }
  [[nodiscard]] std::vector<char> closed() const;
  /// Closes and opens them. The number of rows changes, which invalidates matrices and multipliers of this system.
  /// @param closed  one for each of unilaterals()
  void set_closed(const std::vector<char>& closed);
  /// [N] force of a unilateral constraint; 0 while it is open. @param lambda  multipliers of all rows
  [[nodiscard]] double joint_force(std::size_t unilateral, const VectorX& lambda) const;
  /// Bodies on which a constraint acts, increasing.
  [[nodiscard]] std::vector<BodyIndex> bodies_of(std::size_t constraint) const;
  void add_force(std::unique_ptr<ForceElement> force);

  /// References of all angles that count full turns, see TurnReference: coordinates of joints, then those of forces.
  [[nodiscard]] VectorX turn_references() const;
  /// @param values  from turn_references() of the same model
  void set_turn_references(const ConstVector& values);
  /// To be called with every accepted state, less than half a turn after the last one.
  void accept_turn_references(const ConstVector& q);
  /// Advances them with the rates at a state over a time [s], for states that are further apart.
  void advance_turn_references(const ConstVector& q, const ConstVector& qd, double duration);
  /// Must be called when the bodies of a force element change: the patterns of the tangents are recorded again.
  void reset_force_patterns();

  [[nodiscard]] int n_q() const { return n_q_; }
  [[nodiscard]] int n_constraints() const { return n_constraints_; }
  /// Number of internal states of the force elements added so far.
  [[nodiscard]] int n_states() const { return states_.size(); }
  /// Entries of y = {q, qd, s}.
  [[nodiscard]] int n_y() const { return 2 * n_q_ + n_states(); }
  /// Refers to `y`, which must outlive the result.
  [[nodiscard]] MotionState state(double t, const ConstVector& y) const {
    return {t, y.head(n_q_), y.segment(n_q_, n_q_), y.segment(2 * n_q_, n_states())};
  }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] VectorX initial_q() const;
  [[nodiscard]] VectorX initial_qd() const;
  /// {q, qd, s} with the initial states of the force elements.
  [[nodiscard]] VectorX start_y(double t, const ConstVector& q, const ConstVector& qd) const;

  /// @throws RecoverableError with the first body and the time when a coordinate, its rate or a state is not finite
  void require_finite(const MotionState& at) const;
  /// Sets `g` to the generalised forces of all force elements and adds their energy terms to `energy`.
  /// @throws RecoverableError with the first non-finite force element; exceptions of the force elements
  void apply_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy);
  /// Appends the output values of the force elements, in the order of their columns.
  void append_force_values(const MotionState& at, std::vector<double>& row) const;

  /// Accelerations and multipliers at a state; the result is overwritten by the next call.
  /// @throws RecoverableError for a singular configuration and for non-finite numbers; exceptions of the force elements
  const Accelerations& accelerations(const MotionState& at, const Baumgarte& baumgarte = {});
  /// Velocity change due to impulses: x = M^-1 (b - Phi_q' lambda) with Phi_q x = 0, from impulses b, in place.
  /// For forces b it is the change of the accelerations, at any velocity.
  /// @returns multipliers of joints and drivers, one per row (those of the rigid bodies are undefined); overwritten by
  /// the next call
  /// @throws RecoverableError for a singular configuration
  const VectorX& make_response(double t, const ConstVector& q, Eigen::Ref<VectorX> b);
  /// The change x of the coordinates with Phi_q x = c and minimum M-weighted norm, as in project().
  /// @param c  one entry per row of Phi. @throws RecoverableError for a singular configuration
  [[nodiscard]] VectorX solve_min_norm_change(double t, const ConstVector& q, VectorX c);
  /// The internal states of all force elements.
  [[nodiscard]] ElementStates& states() { return states_; }
  [[nodiscard]] const ElementStates& states() const { return states_; }

  /// Energy terms of all forces at a state, without solving for accelerations.
  [[nodiscard]] EnergyTerms evaluate_energy(const MotionState& at);

  [[nodiscard]] double kinetic_energy(const ConstVector& qd) const;
  [[nodiscard]] Violation violation(double t, const ConstVector& q, const ConstVector& qd);

  /// For messages: the largest residual of position or velocity.
  [[nodiscard]] MaxResidual find_max_residual(double t, const ConstVector& q, const ConstVector& qd);

  /// Moves (q, qd) onto the constraints along M-orthogonal directions: Newton on Phi(q, t) = 0, then one linear solve
  /// for qd. A factorisation is reused while q moves by less than 1e-8.
  /// @returns number of Newton iterations
  /// @throws RecoverableError when Newton does not converge
  int project(double t, Eigen::Ref<VectorX> q, Eigen::Ref<VectorX> qd);

  /// Replaces the axes of every body by the nearest unit vectors normal to each other, about its centre of mass, and
  /// their rates by those of a rigid body with the same momentum and angular momentum sum_kl m_kl q_k x qd_l.
  /// @throws RecoverableError for axes that are far from those of a rigid body
  void restore_rigid_bodies(Eigen::Ref<VectorX> q, Eigen::Ref<VectorX> qd) const;

  /// Distance of the joints' equations from linear dependence at (t, q): an estimate of the smallest singular value of
  /// Phi_q M^-1/2 on the rigid motions [kg^-1/2], by inverse iteration; +inf without joints. In a singular pose, where
  /// the factorisation is damped, it is 1e-5 over the root of the lightest mass.
  /// @param dependent_joint  receives the name of the joint that takes the largest part in the dependence; may be null
  [[nodiscard]] double compute_min_singular_value(double t, const ConstVector& q,
                                                  std::string* dependent_joint = nullptr);

  /// Adds the tangents of all forces at a state.
  void add_force_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C);
  /// Linearises the index-1 equations at a state for Newton systems.
  void linearize(const MotionState& at);
  /// linearize() for the columns of `X_q` only, changes of q that follow: bodies which none of them moves need no
  /// derivatives. Must follow accelerations() at the same state with the same forces.
  void linearize_along(const MotionState& at, const Eigen::Ref<const Eigen::MatrixXd>& X_q);
  /// J dy, the derivative of dy/dt along a change dy of y = {q, qd, s} that satisfies the constraints. Must directly
  /// follow linearize().
  [[nodiscard]] VectorX rate_change(const ConstVector& dy);
  /// Changes of qd that preserve Phi_q qd = nu when q changes by a column of `X_q` and nu by that of `C`: of minimum
  /// M-weighted norm.
  /// @param C  one row per row of Phi. @throws RecoverableError for a singular configuration
  [[nodiscard]] Eigen::MatrixXd rate_changes_along(const MotionState& at, const Eigen::Ref<const Eigen::MatrixXd>& X_q,
                                                   Eigen::MatrixXd C);
  /// The change of the multipliers of accelerations() along changes of q and qd that satisfy the constraints, with
  /// unchanged second derivatives of the functions of drivers. Must directly follow linearize().
  /// @pre n_states() == 0
  [[nodiscard]] VectorX multiplier_change(const ConstVector& x_q, const ConstVector& x_v);
  /// Factors (1 - gamma J), J the Jacobian of y -> dy/dt, from the last linearize(). J is never formed: with
  /// x_v = b_v + gamma da and x_q = b_q + gamma x_v the system reduces to
  ///   [ M - gamma C - gamma^2 K     Phi_q' ] {da     }   { K (b_q + gamma b_v) + C b_v     }
  ///   [ Phi_q - gamma G_v - gamma^2 G_q  0 ] {dlambda} = { G_q (b_q + gamma b_v) + G_v b_v },
  /// internal states eliminated from K, C and the right-hand side (ElementStates, rate = 1 / gamma).
  void factor_newton(double gamma);
  /// Solves (1 - gamma J) x = b, x = {q, qd, s}, in place.
  void solve_newton(Eigen::Ref<VectorX> b);

  /// Makes later results independent of earlier ones; called at restarts of the integration.
  void reset_factorisation();

  [[nodiscard]] const std::vector<std::unique_ptr<Constraint>>& constraints() const { return constraints_; }

  [[nodiscard]] const std::vector<std::unique_ptr<ForceElement>>& forces() const { return forces_; }
  /// Per body; M = mass (x) I3.
  [[nodiscard]] const std::vector<Matrix4>& mass() const { return mass_; }
  /// y = M x.
  void multiply_mass(const ConstVector& x, Eigen::Ref<VectorX> y) const;

 private:
  void evaluate_residual(double t, const ConstVector& q);
  void evaluate_gamma(double t, const ConstVector& q, const ConstVector& qd);
  /// Phi_q qd - nu, all rows; the Jacobian at (t, q) must have been assembled.
  void evaluate_velocity_residual(double t, const ConstVector& q, const ConstVector& qd);
  void assemble_jacobian(double t, const ConstVector& q);
  void linearize_result(const MotionState& at);
  /// With -damping on the diagonal of the joints' multipliers. @returns false when singular
  [[nodiscard]] bool factor_damped_saddle(const ConstVector& q, double damping);
  void factor_saddle(double t, const ConstVector& q);
  void add_driver_power(double t, const ConstVector& q);
  void append(std::unique_ptr<Constraint> constraint);
  void add_baumgarte(double t, const ConstVector& q, const ConstVector& qd, const Baumgarte& baumgarte);
  void invalidate_factors();
  /// Adds to newton_b_ and sets newton_c_: effect of changes of q and qd on -Phi_q' lambda and on the acceleration
  /// constraints at constant lambda and qdd.
  void add_constraint_changes(const ConstVector& x_q, const ConstVector& x_v);
  /// Adds the contribution of internal states to the Newton matrix; none for gamma = 0.
  void eliminate_states(double gamma);
  void resize();
  void project_velocity(double t, const ConstVector& q, Eigen::Ref<VectorX> qd, double moved);
  [[nodiscard]] int n_rigid() const { return rigid_constraints_per_body * static_cast<int>(mass_.size()); }
  [[nodiscard]] std::string name_of_row(Eigen::Index row) const;
  [[nodiscard]] std::string name_of_maximum(const VectorX& rows) const;
  [[nodiscard]] const std::string& body_of(Eigen::Index coordinate) const;
  [[noreturn]] void throw_nonfinite_forces(const MotionState& at);
  template <typename Fill>
  void for_each_joint(Fill fill) const;
  template <typename Fill>
  void for_each_block(Fill fill) const;

  /// A point at which cached results are valid.
  struct Key {
    bool valid = false;
    double t = 0.0;
    VectorX q;
    [[nodiscard]] bool matches(double t_now, const ConstVector& q_now) const {
      return valid && t == t_now && q == q_now;
    }
    void set(double t_now, const ConstVector& q_now) {
      t = t_now;
      q = q_now;
      valid = true;
    }
  };

  Model model_;
  int n_q_ = 0;
  int n_constraints_ = 0;
  std::vector<int> first_rows_;                           ///< per constraint
  std::vector<std::unique_ptr<Constraint>> constraints_;  ///< the rigid-body blocks of all bodies come first
  std::vector<UnilateralConstraint*> unilaterals_;        ///< some of constraints_
  std::vector<std::size_t> unilateral_places_;            ///< in constraints_
  std::vector<std::unique_ptr<ForceElement>> forces_;
  std::vector<TurnReference*> turn_references_;  ///< of joints and forces
  ElementStates states_;
  std::vector<Matrix4> mass_;  ///< per body, M = mass (x) I3

  bool driven_ = false;  ///< a constraint depends on time and does work

  SparseAssembler Phi_q_;       ///< rows of joints only
  SparseAssembler full_Phi_q_;  ///< all rows
  Key jacobian_at_, saddle_at_;
  RigidElimination saddle_;
  VectorX g_, gamma_, correction_;
  VectorX correction_multipliers_;  ///< of respond()
  Accelerations result_;            ///< of accelerations()

  /// Linearisation: point, tangents of forces and joints (the rigid bodies' follow from q, qd, qdd and lambda).
  VectorX lin_q_, lin_qd_, lin_qdd_, lin_lambda_;
  SparseMatrix lin_Phi_q_;
  SparseAssembler K_, C_, G_q_, G_v_;
  SparseAssembler V_q_;        ///< (Phi_q qd - nu)_q of joints
  SparseAssembler K_s_, C_s_;  ///< contribution of eliminated internal states to K and C
  RigidElimination newton_;
  std::vector<Matrix4> newton_mass_;
  double newton_gamma_ = 0.0;
  VectorX q_hat_, shift_, newton_b_, newton_c_;
};

}  // namespace heelstrike::mbs
