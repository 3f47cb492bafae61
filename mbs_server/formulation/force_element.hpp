/// Force elements: generalised forces on the bodies, their tangents, their terms of the energy balance, and their
/// internal states.
#pragma once

#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/sparse_matrix.hpp"
#include "mbs_server/formulation/turn_reference.hpp"

namespace heelstrike::mbs {

/// The parts of y = {q, qd, s}, and the time. Refers to vectors that must outlive it.
struct MotionState {
  MotionState(double time, const ConstVector& coordinates, const ConstVector& rates, const ConstVector& states)
      : t(time), q(coordinates), qd(rates), s(states) {}
  /// For a model or element without internal states.
  MotionState(double time, const ConstVector& coordinates, const ConstVector& rates)
      : MotionState(time, coordinates, rates, coordinates.head(0)) {}

  double t;        ///< [s]
  ConstVector q;   ///< coordinates of all bodies
  ConstVector qd;  ///< their rates
  ConstVector s;   ///< internal states: of all force elements in the order of System::forces(), or of one element
  /// Allows expensive forces to return the values of their last evaluation at this time, whose state differs from this
  /// one by no more than the error of a step.
  bool allow_cached_contact = false;
};

/// Contribution of a force element to the energy balance at one state.
struct EnergyTerms {
  double potential = 0.0;         ///< [J] recoverable energy
  double dissipated_power = 0.0;  ///< [W]
  double external_power = 0.0;    ///< [W] supplied from outside the model
};

/// Derivatives of a force element with internal states s, ds/dt = f(t, q, qd, s), in the coordinates it acts on.
struct StateTangents {
  Eigen::MatrixXd g_s;   ///< of its generalised forces, coordinates x states
  Eigen::MatrixXd f_q;   ///< of the states' rates, states x coordinates
  Eigen::MatrixXd f_qd;  ///< states x coordinates
  Eigen::MatrixXd f_s;   ///< states x states
};

/// States of a force element that are integrated together with the motion: activation of a muscle, internal variables
/// of a viscous material. They are scaled so that the absolute tolerances of positions [m] apply.
class InternalStates {
 public:
  virtual ~InternalStates() = default;

  /// Number of states, > 0; the same at every call.
  [[nodiscard]] virtual int n_states() const = 0;
  /// Entries of q, or of qd, that the states and the forces depend on; the same at every call.
  [[nodiscard]] virtual const std::vector<int>& coordinates() const = 0;
  /// Values at the start of a simulation. @param at  the assembled initial state; its `s` is not used
  virtual void start_states(const MotionState& at, Eigen::Ref<VectorX> s) const = 0;
  /// Sets `f` to the rates of the states. @throws RecoverableError where the force is undefined
  virtual void state_rates(const MotionState& at, Eigen::Ref<VectorX> f) const = 0;
  /// Fills `tangents`, whose matrices have the same sizes at every call.
  virtual void state_tangents(const MotionState& at, StateTangents& tangents) const = 0;
};

/// Limits of an activation.
struct ActivationRange {
  double lower = 0.0, upper = 1.0;
};

/// A force that an analysis controls by an activation between 0 and 1: a muscle.
class ActivatedForce {
 public:
  virtual ~ActivatedForce() = default;

  /// Lower limit of the activation.
  [[nodiscard]] virtual double min_activation() const = 0;
  /// Activations that the activation dynamics reaches from `before` within an interval [s].
  [[nodiscard]] virtual ActivationRange reachable(double before, double interval) const = 0;
  /// [N] of the fibres.
  [[nodiscard]] virtual double max_isometric_force() const = 0;
  /// [m] of the fibres.
  [[nodiscard]] virtual double optimal_fiber_length() const = 0;
  /// Replaces the activation of the scenario in all later evaluations.
  /// @param isometric  the tension is the activation times the maximum isometric force, at any length and rate
  virtual void set_activation(double activation, bool isometric) = 0;
  /// Adds the derivative of the generalised forces by the activation to `g_a`.
  virtual void add_activation_tangent(const MotionState& at, Eigen::Ref<VectorX> g_a) const = 0;
};

class ForceElement {
 public:
  virtual ~ForceElement() = default;

  [[nodiscard]] virtual std::string name() const = 0;

  /// Adds the generalised forces to `g` and the energy terms to `energy`.
  /// @throws RecoverableError when a smaller step may succeed, otherwise Error
  virtual void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) = 0;

  /// Adds K = dg/dq and C = dg/dqd. The sequence of contributions is the same at every call.
  virtual void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) = 0;

  /// True if the forces depend on time explicitly, e.g. through a prescribed activation.
  [[nodiscard]] virtual bool depends_on_time() const { return false; }

  /// Null = none.
  [[nodiscard]] virtual const InternalStates* internal_states() const { return nullptr; }

  /// Null = its force has no activation.
  [[nodiscard]] virtual ActivatedForce* activated() { return nullptr; }

  /// Null = its force depends on no angle that counts full turns.
  [[nodiscard]] virtual TurnReference* turn_reference() { return nullptr; }

  /// Log message about unusual values at the assembled initial state (internal states are not used); empty = none.
  [[nodiscard]] virtual std::string check_initial_state(const MotionState& /*at*/) const { return {}; }

  /// Columns of the time series that the element writes, "NAME.length_m" and so on; the same at every call.
  [[nodiscard]] virtual std::vector<Column> columns() const { return {}; }
  /// Appends a value per column. @throws RecoverableError where the force is undefined
  virtual void append_values(const MotionState& /*at*/, std::vector<double>& /*row*/) const {}
};

}  // namespace heelstrike::mbs
