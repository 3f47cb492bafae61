/// What a unit calculates with: a simulation of its scenario, or one of its contacts alone.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "library/fmu/fmu_content.hpp"
#include "common/motion/jet.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/simulation/run_input.hpp"

namespace heelstrike::fmu {

/// Called where a model stands after one of its own steps, the events included; outputs() is that state, and nothing
/// else may be called. @returns [s] when the advance is to end, from `t` on; none = where it was to
using InternalStep = std::function<std::optional<double>(double t)>;

/// What a unit for model exchange offers the integrator of its importer: dx/dt = f(t, x), the history of contacts
/// beside it. A contact alone has no x.
class Equation {
 public:
  virtual ~Equation() = default;
  virtual void set_time(double t) = 0;
  virtual void set_state(std::span<const double> x) = 0;
  [[nodiscard]] virtual std::span<const double> state() const = 0;
  [[nodiscard]] virtual std::vector<double> rates() = 0;
  /// Change their signs where contacts begin and end.
  [[nodiscard]] virtual std::vector<double> indicators() = 0;
  /// The integrator has taken its step to here for good.
  virtual void accept() = 0;
  /// Some contact has begun or ended where the last step was accepted, and nobody has switched it.
  [[nodiscard]] virtual bool has_pending_switches() = 0;
  /// Takes the state for good, and contacts that have begun or ended act or act no more.
  /// @returns whether there were any: the rates jump, and the integrator has to start anew
  [[nodiscard]] virtual bool switch_pairs() = 0;
};

class FmuModel {
 public:
  virtual ~FmuModel() = default;
  [[nodiscard]] virtual double time() const = 0;  ///< [s]
  /// @param index  of the unit's inputs, from 0 on. @param jet  value and derivatives from time() on
  virtual void set_input(std::size_t index, const Jet& jet) = 0;
  /// What an input is that has not been set; none = its start value.
  [[nodiscard]] virtual std::optional<double> unset_input(std::size_t /*index*/) const { return std::nullopt; }
  /// Names of inputs, outputs and local variables, in the order of the unit's.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// Outputs and local variables, in the order of the unit's; valid until the next call.
  [[nodiscard]] virtual std::span<const double> outputs() = 0;
  /// Goes to `t` [s], or with `stop_at_events` to the next beginning or end of a contact before it.
  /// @param on_step  may be empty; a model without steps of its own never calls it
  /// @returns whether a contact has begun or ended where it stands
  virtual bool advance_to(double t, bool stop_at_events, const InternalStep& on_step) = 0;
  [[nodiscard]] virtual std::string save() = 0;
  virtual void restore(std::string_view bytes) = 0;
  /// d output / d known: one row for each of `unknowns`, places in outputs(), one column for each of `knowns`, places
  /// among names(). Of outputs with respect to inputs; with continuous states of all with respect to inputs and states.
  /// @throws Error{unimplemented} for a model, and for an input, that has none; Error{invalid_input} for a known that
  /// is neither input nor state
  [[nodiscard]] virtual Eigen::MatrixXd tangent(std::span<const std::size_t> unknowns,
                                                std::span<const std::size_t> knowns) = 0;
  /// Null = the model brings its integrator along.
  [[nodiscard]] virtual Equation* equation() { return nullptr; }
};

/// Of the inputs, and of the columns after time.
[[nodiscard]] std::vector<std::string> names_of(std::span<const Column> inputs, std::span<const Column> columns);

/// @param open  where contacts are computed
[[nodiscard]] std::unique_ptr<FmuModel> open_simulation(mbs::RunInput input, const ContactFactory& open);

/// The same for model exchange: it is not advanced, but by Equation.
/// @throws Error{unimplemented} for a scenario that is no ordinary differential equation
[[nodiscard]] std::unique_ptr<FmuModel> open_equation(mbs::RunInput input, const ContactFactory& open);

/// The contact of two bodies whose relative motion is the input. advance_to() commits the motion that the inputs
/// describe at time(), whatever comes after; outputs are those of that motion under the history before it. For model
/// exchange it is an Equation without states, whose indicator is the gap.
[[nodiscard]] std::unique_ptr<FmuModel> open_contact(const mbs::RunInput& input, const std::string& pair,
                                                      const ContactFactory& open);

/// Variables of a contact alone but its parameters. @throws Error{invalid_input} for a pair that is not there
[[nodiscard]] std::vector<FmuVariable> contact_variables(const Scenario& scenario, const std::string& pair);

}  // namespace heelstrike::fmu
