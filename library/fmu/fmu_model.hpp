/// The model inside an FMU: a simulation of its scenario, or a single contact.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/motion/time_function.hpp"
#include "common/results/run_records.hpp"
#include "library/fmu/fmu_content.hpp"
#include "mbs_server/simulation/run_input.hpp"

namespace heelstrike::fmu {

/// Called after each internal step of the model, events included; outputs() is the state at `t`, and no other function
/// may be called. @returns [s] time >= `t` at which the advance ends early; none = it continues to its end
using InternalStep = std::function<std::optional<double>(double t)>;

/// Interface of model exchange to the integrator of the importer: dx/dt = f(t, x), with the history of contacts stored
/// in the model. A single contact has no x.
class Equation {
 public:
  virtual ~Equation() = default;
  virtual void set_time(double t) = 0;
  virtual void set_state(std::span<const double> x) = 0;
  [[nodiscard]] virtual std::span<const double> state() const = 0;
  [[nodiscard]] virtual std::vector<double> rates() = 0;
  /// Event indicators: their signs change where contacts begin and end.
  [[nodiscard]] virtual std::vector<double> indicators() = 0;
  /// Accepts the completed integrator step.
  virtual void accept() = 0;
  /// A contact has begun or ended at the last accepted step and has not been switched.
  [[nodiscard]] virtual bool has_pending_switches() = 0;
  /// Accepts the state and switches contacts that have begun or ended. @returns true when any contact switched: the
  /// rates jump, and the integrator has to be restarted
  [[nodiscard]] virtual bool switch_pairs() = 0;
};

class FmuModel {
 public:
  virtual ~FmuModel() = default;
  [[nodiscard]] virtual double time() const = 0;  ///< [s]
  /// @param index  of the inputs of the FMU, from 0. @param jet  value and derivatives from time() on
  virtual void set_input(std::size_t index, const Jet& jet) = 0;
  /// Value of an input that has not been set; none = its start value.
  [[nodiscard]] virtual std::optional<double> unset_input(std::size_t /*index*/) const { return std::nullopt; }
  /// Names of inputs, outputs and local variables, in the order of the FMU.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// Outputs and local variables, in the order of the FMU; valid until the next call.
  [[nodiscard]] virtual std::span<const double> outputs() = 0;
  /// Advances to `t` [s], or with `stop_at_events` to the next beginning or end of a contact before it.
  /// @param on_step  may be empty; not called by a model without internal steps
  /// @returns true when a contact begins or ends at the time reached
  virtual bool advance_to(double t, bool stop_at_events, const InternalStep& on_step) = 0;
  [[nodiscard]] virtual std::string save() = 0;
  virtual void restore(std::string_view bytes) = 0;
  /// d output / d known: one row for each of `unknowns`, indices in outputs(), one column for each of `knowns`, indices
  /// in names(). Derivatives of outputs with respect to inputs; with continuous states, of all with respect to inputs
  /// and states.
  /// @throws Error{unimplemented} for a model or an input without derivatives; Error{invalid_input} for a known that is
  /// neither input nor state
  [[nodiscard]] virtual Eigen::MatrixXd tangent(std::span<const std::size_t> unknowns,
                                                std::span<const std::size_t> knowns) = 0;
  /// Null = co-simulation: the model contains its integrator.
  [[nodiscard]] virtual Equation* equation() { return nullptr; }
};

/// Names of the inputs, and of the columns after time.
[[nodiscard]] std::vector<std::string> names_of(std::span<const Column> inputs, std::span<const Column> columns);

/// @param open  location of the contact computation
[[nodiscard]] std::unique_ptr<FmuModel> open_simulation(mbs::RunInput input, const ContactFactory& open);

/// The same for model exchange: it is advanced only through Equation.
/// @throws Error{unimplemented} for a scenario that is not an ordinary differential equation
[[nodiscard]] std::unique_ptr<FmuModel> open_equation(mbs::RunInput input, const ContactFactory& open);

/// The contact of two bodies whose relative motion is the input. advance_to() commits the motion that the inputs
/// describe at time(); outputs are those of that motion under the history before it. For model exchange it is an
/// Equation without states, whose indicator is the gap.
[[nodiscard]] std::unique_ptr<FmuModel> open_contact(const mbs::RunInput& input, const std::string& pair,
                                                     const ContactFactory& open);

/// Variables of a contact FMU except its parameters. @throws Error{invalid_input} for an unknown pair
[[nodiscard]] std::vector<FmuVariable> contact_variables(const Scenario& scenario, const std::string& pair);

}  // namespace heelstrike::fmu
