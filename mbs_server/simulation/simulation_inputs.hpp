/// External inputs of a Simulation by name: a force and a torque on every body, and every driver that is a function of
/// time.
///
/// An input is valid from one time on, as value + rate * (t - t0) + acceleration * (t - t0)^2 / 2: an exact driver
/// needs all three, and a force that varies between two communication points needs its rate.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/system.hpp"
#include "mbs_server/simulation/run_state.hpp"

namespace heelstrike::mbs {

/// A function of time that can be replaced between steps.
class InputFunction final : public TimeFunction {
 public:
  /// @param scenario  function of the scenario; null = zero
  explicit InputFunction(TimeFunctionPtr scenario) : scenario_(std::move(scenario)) {}
  [[nodiscard]] Jet at(double t) const override;
  [[nodiscard]] double first_time() const override;
  [[nodiscard]] double last_time() const override;
  void set(const InputValue& value) { value_ = value; }
  /// Restores the function of the scenario.
  void reset() { value_.reset(); }
  [[nodiscard]] const std::optional<InputValue>& value() const { return value_; }
  /// Adds a constant to the value of at(); for derivatives.
  void shift(double by) { shift_ = by; }

 private:
  TimeFunctionPtr scenario_;
  std::optional<InputValue> value_;
  double shift_ = 0.0;
};

class SimulationInputs {
 public:
  /// Replaces the functions of all drivers of `model`.
  explicit SimulationInputs(Model model);
  ~SimulationInputs();
  SimulationInputs(const SimulationInputs&) = delete;
  SimulationInputs& operator=(const SimulationInputs&) = delete;

  /// The model with drivers connected to the inputs.
  [[nodiscard]] const Model& model() const { return model_; }
  /// The force element of the bodies' inputs, for the system of model(). Called once.
  [[nodiscard]] std::unique_ptr<ForceElement> release_force_element();

  /// Names as in "ball.fx_N" and "motor.angle_rad", with units: forces at the origins of the bodies and torques, in the
  /// world, then drivers.
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

  /// @returns true when a force now acts on a body that had none, which changes the pattern of forces
  /// @throws as require()
  bool set(const std::string& name, const InputValue& value);
  /// True if a driver has been set since the last call: the state must be projected onto the moved constraints.
  [[nodiscard]] bool take_moved_constraints() { return std::exchange(moved_constraints_, false); }
  /// @throws Error{invalid_input} for an unknown name and for non-finite numbers
  void require(const std::string& name, const Jet& jet) const;

  /// The body and the unit force or torque, about its origin in the world, that one of columns() scales; none for
  /// drivers.
  struct UnitWrench {
    BodyIndex body;
    Wrench F_W;
  };
  [[nodiscard]] std::optional<UnitWrench> unit_wrench(std::size_t column) const;
  /// Value of one of columns() at `t` [s]: as set, or else that of the scenario's driver, or zero force.
  [[nodiscard]] double value(std::size_t column, double t) const { return function(column).at(t).f; }
  /// Shifts the value of one of columns() of drivers by `by`, at equal rates, until the next call.
  void shift(std::size_t column, double by) { function(column).shift(by); }

  /// All inputs that have been set, for checkpoints.
  [[nodiscard]] std::map<std::string, InputValue> values() const;
  /// Sets exactly these inputs and resets all others; a restored state satisfies their constraints. @throws as set()
  void restore(const std::map<std::string, InputValue>& values);

 private:
  struct Input {
    std::shared_ptr<InputFunction> function;
    BodyIndex body = ground;  ///< of a force; ground = a driver
  };
  [[nodiscard]] InputFunction& function(std::size_t column) const {
    return *inputs_.at(columns_.at(column).name).function;
  }
  void add(Column column, Input input);
  void add_forces_of(BodyIndex body);
  void add_driver(Driver& driver);

  /// Acts on the bodies with an input, without cost for others.
  class Forces;

  Model model_;
  std::vector<Column> columns_;
  std::map<std::string, Input> inputs_;
  std::vector<Load> loads_;  ///< per body, of its inputs
  std::unique_ptr<Forces> owned_forces_;
  Forces* forces_ = nullptr;
  bool moved_constraints_ = false;
};

/// Derivatives of a row with respect to the value of a driver, along the minimum change of the coordinates that the
/// constraints require, at equal rates.
/// @param input   index of a driver in SimulationInputs::columns(). @param y  {q, qd, s} at `t`
/// @param row_at  evaluates the row at a state
[[nodiscard]] std::vector<double> driver_derivative(SimulationInputs& inputs, std::size_t input, System& system,
                                                    double t, const VectorX& y,
                                                    const std::function<std::vector<double>(const VectorX& y)>& row_at);

}  // namespace heelstrike::mbs
