/// What may be fed into a Simulation from outside, by name: a force and a torque on every body, and every driver that
/// is a function of time.
///
/// An input holds from one time on and goes on from there as value + rate * (t - t0) + acceleration * (t - t0)^2 / 2:
/// a driver needs all three to be exact, and a force that changes between two communication points needs its rate.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/load_force.hpp"
#include "mbs_server/formulation/system.hpp"
#include "mbs_server/simulation/run_state.hpp"

namespace heelstrike::mbs {

/// A function of time that can be replaced while the simulation stands still.
class InputFunction final : public TimeFunction {
 public:
  /// @param scenario  what the scenario says; null = zero
  explicit InputFunction(TimeFunctionPtr scenario) : scenario_(std::move(scenario)) {}
  [[nodiscard]] Jet at(double t) const override;
  [[nodiscard]] double first_time() const override;
  [[nodiscard]] double last_time() const override;
  void set(const InputValue& value) { value_ = value; }
  /// Back to what the scenario says.
  void reset() { value_.reset(); }
  [[nodiscard]] const std::optional<InputValue>& value() const { return value_; }
  /// From now on at() is larger by this, its rates stay; for derivatives.
  void shift(double by) { shift_ = by; }

 private:
  TimeFunctionPtr scenario_;
  std::optional<InputValue> value_;
  double shift_ = 0.0;
};

class SimulationInputs {
 public:
  /// Takes the place of the functions of all drivers of `model`.
  explicit SimulationInputs(Model model);
  ~SimulationInputs();
  SimulationInputs(const SimulationInputs&) = delete;
  SimulationInputs& operator=(const SimulationInputs&) = delete;

  /// With drivers that listen to the inputs.
  [[nodiscard]] const Model& model() const { return model_; }
  /// The force element of the bodies' inputs; to be given to the system that is made of model(). Called once.
  [[nodiscard]] std::unique_ptr<ForceElement> release_force_element();

  /// Names as in "ball.fx_N" and "motor.angle_rad", with units: forces at the origins of the bodies and torques, in the
  /// world, then drivers.
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }

  /// What setting an input changes for the equations of motion.
  enum class Change { value, constraint, bodies };
  /// @returns `bodies` when a force now acts on a body that had none, `constraint` for a driver
  /// @throws as require()
  Change set(const std::string& name, const InputValue& value);
  /// @throws Error{invalid_input} for an unknown name and for numbers that are not finite
  void require(const std::string& name, const Jet& jet) const;

  /// The body and the unit force or torque, about its origin in the world, that one of columns() multiplies; none for
  /// those of drivers.
  struct UnitWrench {
    BodyIndex body;
    Wrench F_W;
  };
  [[nodiscard]] std::optional<UnitWrench> unit_wrench(std::size_t column) const;
  /// What one of columns() is at `t` [s]: as it was set, or else what the scenario's driver prescribes, and no force.
  [[nodiscard]] double value(std::size_t column, double t) const { return function(column).at(t).f; }
  /// What drivers prescribe by one of columns() is larger by `by`, at the same rates, until the next call.
  void shift(std::size_t column, double by) { function(column).shift(by); }

  /// All inputs that have been set, for checkpoints.
  [[nodiscard]] std::map<std::string, InputValue> values() const;
  /// Exactly these and no others. @throws as set()
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

  /// Acts on the bodies that have an input, and costs nothing for the others.
  class Forces;

  Model model_;
  std::vector<Column> columns_;
  std::map<std::string, Input> inputs_;
  std::vector<Load> loads_;  ///< per body, of its inputs
  std::unique_ptr<Forces> owned_forces_;
  Forces* forces_ = nullptr;
};

}  // namespace heelstrike::mbs
