/// A scenario, or one of its contacts, as an FMU, in the concepts that FMI 2.0 and 3.0 share; fmi2.cpp and fmi3.cpp
/// only translate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "library/fmu/fmu_content.hpp"
#include "library/fmu/fmu_model.hpp"

namespace heelstrike::fmu {

/// One instance. The contact of the scenario is opened at the first access to a value that depends on it, at the latest
/// at the end of the initialisation: parameters can be set until then.
///
/// Every method throws Error; Error{out_of_order} for a call that the standard does not allow in the current state.
class Fmu {
 public:
  /// @param token  of the description that the importer has read. @throws Error{version_mismatch} when it belongs to
  /// other resources; as read_content
  /// @param model_exchange  kind requested by the importer. @throws Error{unimplemented} for an FMU of the other kind
  Fmu(const std::filesystem::path& resources, std::string_view token, bool model_exchange = false);
  ~Fmu();
  Fmu(const Fmu&) = delete;
  Fmu& operator=(const Fmu&) = delete;

  /// @param start_time  [s] time of the scenario's initial state; its functions of time are evaluated at the times of
  /// the importer
  /// @param stop_time   [s] > start_time; none = start_time plus the duration of the scenario
  void setup(double start_time, std::optional<double> stop_time);
  void enter_initialization();
  /// @param event_mode  the importer uses event mode, which is then entered; else step mode is entered
  void exit_initialization(bool event_mode = false);
  void enter_event_mode();
  /// @returns true when the integrator of the importer has to be restarted: rates jump where a contact begins or ends,
  /// and where an input or a parameter was set. Importers restart when states are reported as changed
  bool update_discrete_states();
  void enter_step_mode();
  void terminate();
  /// Returns to the state after instantiation.
  void reset();

  /// @throws Error{invalid_input} for a reference that the FMU does not have
  void require_known(std::span<const std::uint32_t> references) const;
  /// @param values  one for each reference. NaN (a centre of pressure without contact) is reported as 0, because
  /// importers abort at values that are not finite
  void get(std::span<const std::uint32_t> references, std::span<double> values);
  /// Sets all values or, on an error, none.
  void set(std::span<const std::uint32_t> references, std::span<const double> values);
  /// Value of server_variable(). @param values  valid until the next call
  void get_texts(std::span<const std::uint32_t> references, std::span<const char*> values) const;
  /// @throws Error{invalid_input} for an invalid address. An unreachable server is reported when the contact is opened
  void set_texts(std::span<const std::uint32_t> references, std::span<const char* const> values);
  /// Sets first or second derivatives of inputs [per s, per s^2], valid until they are set again; all or none.
  void set_derivatives(std::span<const std::uint32_t> references, std::span<const int> orders,
                       std::span<const double> values);

  /// Advances from `t` to `t + h`, or with `may_return_early` to the first beginning or end of a contact in between.
  /// @param on_step  see FmuModel; may call only get()
  /// @returns true when a contact begins or ends at the time reached. @throws Error{invalid_input} when the current
  /// time is not `t`
  bool do_step(double t, double h, bool may_return_early = false, const InternalStep& on_step = {});
  [[nodiscard]] double time() const { return model_ ? model_->time() : start_time_; }
  /// Communication points are equal when they differ by the accumulated rounding of the master.
  [[nodiscard]] bool is_at_time(double t) const;

  // Model exchange.
  void enter_continuous_time_mode();
  void set_time(double t);
  void set_continuous_states(std::span<const double> x);
  /// @throws Error{invalid_input} for another number of values, as the two functions below
  void get_continuous_states(std::span<double> x);
  void get_rates(std::span<double> rates);
  void get_indicators(std::span<double> values);
  [[nodiscard]] std::size_t n_continuous_states();
  [[nodiscard]] std::size_t n_indicators();
  /// @returns true when a contact has begun or ended: the importer has to enter event mode, if it has not detected the
  /// event by the indicators
  bool complete_step();

  /// Derivatives of outputs with respect to inputs, at the current state.
  /// @param seed  with `adjoint` one number for each unknown, and the result has one for each known (vector-Jacobian
  /// product); else one for each known, and the result has one for each unknown (Jacobian-vector product)
  /// @throws Error{unimplemented} as FmuModel::tangent
  [[nodiscard]] std::vector<double> derivative(std::span<const std::uint32_t> unknowns,
                                               std::span<const std::uint32_t> knowns, std::span<const double> seed,
                                               bool adjoint);

  /// The full state; allowed in every state except an intermediate update, as is restore.
  [[nodiscard]] std::string save();
  void restore(const std::string& bytes);

 private:
  enum class State { instantiated, initialization, stepping, event, terminated, update, continuous };

  [[nodiscard]] const FmuVariable& variable(std::uint32_t reference) const;
  void require(bool allowed, const char* call) const;
  [[nodiscard]] bool is_any_of(auto... states) const { return ((state_ == states) || ...); }
  /// The equation with all set values. @throws Error{out_of_order} in an FMU for co-simulation
  [[nodiscard]] Equation& equation(const char* call);
  /// Builds the model with the current parameters, unless it exists.
  /// @throws Error{version_mismatch} when its columns do not match the table
  void open();
  void require_columns(const std::vector<std::string>& names) const;
  void require_settable(const FmuVariable& target, double value) const;
  /// @throws Error{invalid_input} for references that are not texts
  void require_texts(std::span<const std::uint32_t> references) const;
  [[nodiscard]] ContactFactory contact_source() const;
  [[nodiscard]] double parameter(
      const FmuVariable& requested) const;  ///< [its unit] value in the current or future model
  /// Replaces the model by one with the current parameters, which continues from the current state.
  void rebuild_with_tuned_parameters();
  void apply_inputs();
  /// Restores the model of an uninitialised instance from the state of an initialised one, with the start values of
  /// that instance.
  void restore_uninitialised(double start_time, std::optional<double> stop_time,
                             std::map<std::uint32_t, double> parameters, std::string_view bytes);
  /// For changes of the data from which a model is opened; all inputs are set in the next model.
  void discard_model();

  FmuContent content_;
  State state_ = State::instantiated;
  std::map<std::uint32_t, double> parameters_;       ///< parameters that were set
  std::map<std::uint32_t, double> pending_tunable_;  ///< set since the model was opened, and not yet applied to it
  bool is_discontinuous_ = false;                    ///< a value was set since event mode was entered
  double start_time_ = 0.0;                          ///< [s]
  std::optional<double> stop_time_;
  std::string server_;  ///< address; empty = contacts are computed in this process
  std::unique_ptr<FmuModel> model_;
  std::uint32_t first_input_ = 0, first_output_ = 0;
  /// Value and derivatives of an input since a time; set values are applied before the next step.
  struct Input {
    double since = 0.0;
    Jet jet;
    bool is_new = false;
    [[nodiscard]] double at(double t) const { return jet.f + (t - since) * (jet.d + 0.5 * (t - since) * jet.dd); }
  };
  std::map<std::uint32_t, Input> inputs_;
};

}  // namespace heelstrike::fmu
