/// A scenario of free bodies as an ordinary differential equation dx/dt = f(t, x), for whoever brings an integrator
/// along (model exchange of FMI):
///
///   x = {p, quaternion (real part first), v, w of each body in the world; own states of force elements;
///        energy dissipated, work of external loads}
///
/// Joints and drivers are algebraic equations between the coordinates, which such integrators do not keep: scenarios
/// with them are refused. Quaternions may have any length but zero; the equation keeps it.
///
///     FreeMotion motion(input);
///     motion.initialise(fem::open_local_contact);
///     repeat:  motion.set(t, x), motion.rates(), motion.indicators(), motion.output_values()   any times, in any order
///              motion.accept()            once per step that the integrator takes for good
///              motion.switch_pairs()      where an indicator has changed its sign
///
/// A pair exerts nothing until switch_pairs() has found that it touches, so that steps that look beyond a touchdown see
/// a smooth motion; one that separates exerts nothing of itself. SI units. One thread at a time.
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
  /// @throws Error{unimplemented} with the reason why the scenario is no such equation
  explicit FreeMotion(const RunInput& input);
  FreeMotion(const FreeMotion&) = delete;
  FreeMotion& operator=(const FreeMotion&) = delete;

  /// Once: opens the contact and takes the initial state. @throws as Simulation::initialise
  void initialise(const ContactFactory& open_contact);

  [[nodiscard]] double time() const { return t_; }           ///< [s]
  [[nodiscard]] const VectorX& state() const { return x_; }  ///< x
  /// @throws Error{invalid_input} for numbers that are not finite and for quaternions of length zero
  void set_time(double t);
  void set_state(std::span<const double> x);
  /// dx/dt at time() and state(). @throws RecoverableError where the contact cannot answer, as in a state too deep
  [[nodiscard]] VectorX rates();

  [[nodiscard]] std::size_t n_pairs() const { return model_.system().model().pairs.size(); }
  /// [m] Per pair what changes its sign from above where it touches, and from below where it separates. Integrators
  /// look far beyond a touchdown before they look for it: of a state that the contact cannot answer, too deep, they are
  /// those of one on the straight way there from the last accepted one, where the first pair touches.
  void indicators(std::span<double> values);
  /// Null without pairs.
  [[nodiscard]] Contact* contact() { return model_.contact(); }
  /// The integrator has taken its step to time() and state() for good: the history of the contact advances.
  /// @throws Error{invalid_input} beyond analysis.end_time, where no state can be saved
  void accept();
  /// Some pair has begun to touch or has separated at the state of the last accept(), and was not switched: whoever
  /// watches no indicators is told so.
  [[nodiscard]] bool has_pending_switches() const { return has_pending_switches_; }
  /// Takes the state for good, and pairs that touch or have separated there begin or end to act.
  /// @returns whether there were any
  bool switch_pairs();

  /// As of Simulation.
  [[nodiscard]] std::span<const Column> inputs() const { return inputs_.columns(); }
  void set_input(std::size_t index, const Jet& jet);
  /// The columns of the time series; then x but for what is among them already, dx/dt, and the indicators.
  [[nodiscard]] std::span<const Column> outputs() const { return columns_; }
  [[nodiscard]] std::span<const double> output_values();
  [[nodiscard]] std::size_t n_table_columns() const { return n_table_; }
  /// Positions in outputs() of each entry of x, of its rate, and of each indicator.
  [[nodiscard]] std::span<const std::size_t> state_columns() const { return state_columns_; }
  [[nodiscard]] std::size_t first_rate_column() const { return first_rate_; }
  [[nodiscard]] std::size_t first_indicator_column() const { return columns_.size() - n_pairs(); }

  /// d outputs()[columns] / d knowns at time() and state(), one row per column. Those of x and of the rates of bodies
  /// and force elements are exact, by the tangents of the forces, and so are all with respect to inputs; the others
  /// (tables, powers, indicators with respect to x) are central differences.
  /// @param knowns  inputs() from 0 on, after them the entries of x
  [[nodiscard]] Eigen::MatrixXd tangent(std::span<const std::size_t> columns, std::span<const std::size_t> knowns);

  /// All that is needed to go on from here.
  struct Saved {
    double t = 0.0;
    VectorX x;
    Checkpoint committed;
  };
  [[nodiscard]] Saved save();
  /// @throws Error{invalid_input} for the state of another scenario and for a damaged one; nothing has changed then
  void restore(const Saved& saved);

 private:
  [[nodiscard]] Eigen::Index n_bodies() const {
    return static_cast<Eigen::Index>(model_.system().model().bodies.size());
  }
  /// First own state of a force element in x.
  [[nodiscard]] Eigen::Index first_internal_state() const;
  void collect_columns();
  /// {q, qd, s} of x.
  [[nodiscard]] VectorX motion() const { return motion(x_); }
  [[nodiscard]] VectorX motion(const VectorX& x) const;
  [[nodiscard]] VectorX quadratures() const { return x_.tail(EnergyQuadrature::n); }
  [[nodiscard]] std::span<const Response> responses(const VectorX& y);
  /// {q, qd, s} at x, or as far on the way to it as the contact answers. @throws what it says at the accepted state
  [[nodiscard]] VectorX nearest_evaluable_motion();
  void require_valid(std::span<const double> x) const;
  /// Whether a pair touches that was open, or has separated that was closed.
  [[nodiscard]] bool switches(std::size_t pair, const Response& answer, double rounding);
  /// {dq, dqd, ds} of motion() along dx.
  [[nodiscard]] VectorX motion_change(const VectorX& dx) const;
  /// Of rates() along entry `state` of x, but for those of the energies, which are left zero. @param xd  rates()
  [[nodiscard]] VectorX rate_change(std::size_t state, const VectorX& xd);
  /// Of outputs() with one input.
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
