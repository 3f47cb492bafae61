/// A scenario of free bodies as an ordinary differential equation dx/dt = f(t, x) for external integrators (FMI model
/// exchange):
///
///   x = {p, quaternion (real part first), v, w of each body in the world; internal states of force elements;
///        energy dissipated, work of external loads}
///
/// Joints and drivers are algebraic equations between the coordinates, which such integrators do not enforce: scenarios
/// with them are rejected. Quaternions may have any nonzero length, which the equation preserves.
///
///     FreeMotion motion(input);
///     motion.initialise(fem::open_local_contact);
///     repeat:  motion.set(t, x), motion.rates(), motion.indicators(), motion.output_values()   any times, in any order
///              motion.accept()            once per accepted step of the integrator
///              motion.switch_pairs()      after a sign change of an indicator
///
/// A pair exerts no force until switch_pairs() closes it, so that steps beyond an onset have a smooth motion; a
/// separating pair exerts no force anyway. SI units. One thread at a time.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "mbs_server/simulation/coupled_model.hpp"
#include "mbs_server/simulation/run_input.hpp"
#include "mbs_server/simulation/simulation_inputs.hpp"

namespace heelstrike::mbs {

class FreeMotion {
 public:
  /// @param input  outlives this object
  /// @throws Error{unimplemented} with the reason if the scenario is not such an equation
  explicit FreeMotion(const RunInput& input);
  FreeMotion(const FreeMotion&) = delete;
  FreeMotion& operator=(const FreeMotion&) = delete;

  /// Called once: opens the contact and sets the initial state. @throws as Simulation::initialise
  void initialise(const ContactFactory& open_contact);

  [[nodiscard]] double time() const { return t_; }           ///< [s]
  [[nodiscard]] const VectorX& state() const { return x_; }  ///< x
  /// @throws Error{invalid_input} for non-finite numbers and for quaternions of length zero
  void set_time(double t);
  void set_state(std::span<const double> x);
  /// dx/dt at time() and state(). @throws RecoverableError where the contact fails, e.g. for excessive depth
  [[nodiscard]] VectorX rates();

  [[nodiscard]] std::size_t n_pairs() const { return model_.system().model().pairs.size(); }
  /// [m] Event indicator per pair: falls through zero at onset, rises through zero at separation. Integrators may step
  /// far beyond an onset before locating it: for a state too deep for the contact, the indicators are those of the
  /// state on the straight line from the last accepted one where the first pair touches.
  void indicators(std::span<double> values);
  /// Null without pairs.
  [[nodiscard]] Contact* contact() { return model_.contact(); }
  /// Accepts the step to time() and state(): the history of the contact advances.
  /// @throws Error{invalid_input} beyond analysis.end_time, where states cannot be saved
  void accept();
  /// True if a pair has an onset or separation at the state of the last accept() and was not switched: for integrators
  /// without event detection.
  [[nodiscard]] bool has_pending_switches() const { return has_pending_switches_; }
  /// Accepts the state; pairs with onset or separation there become active or inactive.
  /// @returns true if a pair was switched
  bool switch_pairs();

  /// As of Simulation.
  [[nodiscard]] std::span<const Column> inputs() const { return inputs_.columns(); }
  void set_input(std::size_t index, const Jet& jet);
  /// The columns of the time series; then the entries of x not among them, dx/dt, and the indicators.
  [[nodiscard]] std::span<const Column> outputs() const { return columns_; }
  [[nodiscard]] std::span<const double> output_values();
  [[nodiscard]] std::size_t n_table_columns() const { return n_table_; }
  /// Positions in outputs() of each entry of x, of its rate, and of each indicator.
  [[nodiscard]] std::span<const std::size_t> state_columns() const { return state_columns_; }
  [[nodiscard]] std::size_t first_rate_column() const { return first_rate_; }
  [[nodiscard]] std::size_t first_indicator_column() const { return columns_.size() - n_pairs(); }

  /// d outputs()[columns] / d knowns at time() and state(), one row per column. Derivatives of x, of the rates of
  /// bodies and force elements, and with respect to inputs are exact, from the tangents of the forces; the others
  /// (tables, powers, indicators with respect to x) are central differences.
  /// @param knowns  indices of inputs(), followed by the entries of x
  [[nodiscard]] Eigen::MatrixXd tangent(std::span<const std::size_t> columns, std::span<const std::size_t> knowns);

  /// State for resuming.
  struct Saved {
    double t = 0.0;
    VectorX x;
    Checkpoint committed;
  };
  [[nodiscard]] Saved save();
  /// @throws Error{invalid_input} for the state of another scenario or a damaged one, without changes
  void restore(const Saved& saved);

 private:
  [[nodiscard]] Eigen::Index n_bodies() const {
    return static_cast<Eigen::Index>(model_.system().model().bodies.size());
  }
  /// First internal state of a force element in x.
  [[nodiscard]] Eigen::Index first_internal_state() const;
  void collect_columns();
  /// {q, qd, s} of x.
  [[nodiscard]] VectorX motion() const { return motion(x_); }
  [[nodiscard]] VectorX motion(const VectorX& x) const;
  [[nodiscard]] VectorX quadratures() const { return x_.tail(EnergyQuadrature::n); }
  [[nodiscard]] std::span<const Response> responses(const VectorX& y);
  /// {q, qd, s} at x, or at the farthest state towards it with a contact response. @throws errors at the accepted state
  [[nodiscard]] VectorX nearest_evaluable_motion();
  void require_valid(std::span<const double> x) const;
  /// True if an open pair touches or a closed pair has separated.
  [[nodiscard]] bool switches(std::size_t pair, const Response& response, double rounding);
  /// {dq, dqd, ds} of motion() along dx.
  [[nodiscard]] VectorX motion_change(const VectorX& dx) const;
  /// Change of rates() along entry `state` of x; those of the energies are zero. @param xd  rates()
  [[nodiscard]] VectorX rate_change(std::size_t state, const VectorX& xd);
  /// Derivative of outputs() by one input.
  [[nodiscard]] VectorX change_with_input(std::size_t input);
  [[nodiscard]] VectorX differences(std::size_t state);

  const RunInput& input_;
  SimulationInputs inputs_;
  CoupledModel model_;
  double t_ = 0.0;  ///< [s]
  VectorX x_;
  std::vector<Column> columns_;
  std::vector<std::size_t> state_columns_;
  std::size_t n_table_ = 0;     ///< columns of the time series
  std::size_t first_rate_ = 0;  ///< among columns_
  std::vector<double> row_;
  bool has_pending_switches_ = false;
  VectorX accepted_;  ///< x at the last accept()
};

}  // namespace heelstrike::mbs
