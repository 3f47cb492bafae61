/// A scenario, or one of its contacts, as a co-simulation unit, in the words that FMI 2.0 and 3.0 share; fmi2.cpp and
/// fmi3.cpp only translate.
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

/// One instance. The scenario's contact is opened when the first value is asked for that depends on it, at the latest
/// when the initialisation ends: parameters can be set until then.
///
/// Every method throws Error; Error{out_of_order} is a call that the standard does not allow in this state.
class Fmu {
 public:
  /// @param token  of the description that the importer has read. @throws Error{version_mismatch} when it belongs to
  /// other resources; as read_content
  /// @param model_exchange  how the importer wants to use it. @throws Error{unimplemented} for a unit of the other kind
  Fmu(const std::filesystem::path& resources, std::string_view token, bool model_exchange = false);
  ~Fmu();
  Fmu(const Fmu&) = delete;
  Fmu& operator=(const Fmu&) = delete;

  /// @param start_time  [s] at which the scenario's initial state holds; its functions of time are asked at the times
  /// of the importer
  /// @param stop_time   [s] > start_time; none = as long after the start as the scenario says
  void setup(double start_time, std::optional<double> stop_time);
  void enter_initialization();
  /// @param event_mode  the importer uses event mode, in which the unit is then; else it is ready to step
  void exit_initialization(bool event_mode = false);
  void enter_event_mode();
  /// @returns whether the integrator of the importer has to start anew: rates jump where a contact begins or ends, and
  /// where an input or a parameter was set. Importers do so when they hear that states have changed
  bool update_discrete_states();
  void enter_step_mode();
  void terminate();
  /// Back to where it was instantiated.
  void reset();

  /// @throws Error{invalid_input} for a reference that the unit does not have
  void require_known(std::span<const std::uint32_t> references) const;
  /// @param values  one for each reference. A number that is none (a centre of pressure without contact) is told as 0:
  /// importers stop at what is not finite
  void get(std::span<const std::uint32_t> references, std::span<double> values);
  /// All of them or, when one is refused, none.
  void set(std::span<const std::uint32_t> references, std::span<const double> values);
  /// Of server_variable(). @param values  valid until the next call
  void get_texts(std::span<const std::uint32_t> references, std::span<const char*> values) const;
  /// @throws Error{invalid_input} for what is no address. That nobody answers there is told when the contact is opened
  void set_texts(std::span<const std::uint32_t> references, std::span<const char* const> values);
  /// From now on inputs have these first or second derivatives [per s, per s^2], until they are set again; all or none.
  void set_derivatives(std::span<const std::uint32_t> references, std::span<const int> orders,
                       std::span<const double> values);

  /// From `t` to `t + h`, or with `may_return_early` to the first beginning or end of a contact on the way.
  /// @param on_step  see FmuModel; get() is all that may be called from it
  /// @returns whether a contact has begun or ended where it stands. @throws Error{invalid_input} when it does not stand
  /// at `t`
  bool do_step(double t, double h, bool may_return_early = false, const InternalStep& on_step = {});
  [[nodiscard]] double time() const { return model_ ? model_->time() : start_time_; }
  /// Communication points are the same when they differ by the rounding of masters who add them up.
  [[nodiscard]] bool is_at_time(double t) const;

  // Model exchange.
  void enter_continuous_time_mode();
  void set_time(double t);
  void set_continuous_states(std::span<const double> x);
  /// @throws Error{invalid_input} for another number of values, as the two below
  void get_continuous_states(std::span<double> x);
  void get_rates(std::span<double> rates);
  void get_indicators(std::span<double> values);
  [[nodiscard]] std::size_t n_continuous_states();
  [[nodiscard]] std::size_t n_indicators();
  /// @returns whether a contact has begun or ended: the importer has to enter its event mode, if it has not found it
  /// by the indicators
  bool complete_step();

  /// Derivatives of outputs with respect to inputs, where the unit stands.
  /// @param seed  with `adjoint` one number for each unknown, and the result has one for each known: the product from
  /// the left; else the other way round
  /// @throws Error{unimplemented} as FmuModel::tangent
  [[nodiscard]] std::vector<double> derivative(std::span<const std::uint32_t> unknowns,
                                               std::span<const std::uint32_t> knowns, std::span<const double> seed,
                                               bool adjoint);

  /// All that is needed to go on from here: in every state but an intermediate update, as restore.
  [[nodiscard]] std::string save();
  void restore(const std::string& bytes);

 private:
  enum class State { instantiated, initialization, stepping, event, terminated, update, continuous };

  [[nodiscard]] const FmuVariable& variable(std::uint32_t reference) const;
  void require(bool allowed, const char* call) const;
  [[nodiscard]] bool is_any_of(auto... states) const { return ((state_ == states) || ...); }
  /// With what has been set. @throws Error{out_of_order} in a unit for co-simulation
  [[nodiscard]] Equation& equation(const char* call);
  /// Builds the model with the parameters as they are, unless it is there.
  /// @throws Error{version_mismatch} when its columns are not those of the table
  void open();
  void require_columns(const std::vector<std::string>& names) const;
  void require_settable(const FmuVariable& target, double value) const;
  /// @throws Error{invalid_input} for references of what is no text
  void require_texts(std::span<const std::uint32_t> references) const;
  [[nodiscard]] ContactFactory contact_source() const;
  [[nodiscard]] double parameter(const FmuVariable& asked) const;  ///< [its unit] that the model has, or would have
  /// Another model with the parameters as they are takes over where this one stands.
  void rebuild_with_tuned_parameters();
  void apply_inputs();
  /// The model of an instance that was not initialised, from the state of one that was, with what that was started
  /// with.
  void restore_uninitialised(double start_time, std::optional<double> stop_time, std::map<std::uint32_t, double> parameters,
             std::string_view bytes);
  /// For what changes what a model is opened with; the next one hears all inputs.
  void discard_model();

  FmuContent content_;
  State state_ = State::instantiated;
  std::map<std::uint32_t, double> parameters_;  ///< that were set
  std::map<std::uint32_t, double> pending_tunable_;       ///< that were set while the model was there, and are not in it yet
  bool is_discontinuous_ = false;                         ///< something was set since the event mode was entered
  double start_time_ = 0.0;                     ///< [s]
  std::optional<double> stop_time_;
  std::string server_;  ///< address; empty = contacts are computed in this process
  std::unique_ptr<FmuModel> model_;
  std::uint32_t first_input_ = 0, first_output_ = 0;
  /// Value and derivatives of an input since a time; what has been set is handed on before the next step.
  struct Input {
    double since = 0.0;
    Jet jet;
    bool is_new = false;
    [[nodiscard]] double at(double t) const { return jet.f + (t - since) * (jet.d + 0.5 * (t - since) * jet.dd); }
  };
  std::map<std::uint32_t, Input> inputs_;
};

}  // namespace heelstrike::fmu
