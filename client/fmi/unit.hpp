/// A scenario as a co-simulation unit, in the words that FMI 2.0 and 3.0 share; fmi2.cpp and fmi3.cpp only translate.
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

#include "client/fmi/unit_content.hpp"
#include "mbs_server/simulation/simulation.hpp"

namespace heelstrike::client {

/// One instance. The scenario's contact is opened when the first value is asked for that depends on it, at the latest
/// when the initialisation ends: parameters can be set until then.
///
/// Every method throws Error; Error{out_of_order} is a call that the standard does not allow in this state.
class Unit {
 public:
  /// @param token  of the description that the importer has read. @throws Error{version_mismatch} when it belongs to
  /// other resources; as read_content
  Unit(const std::filesystem::path& resources, std::string_view token);
  ~Unit();
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  /// @param stop_time  [s] takes the place of the scenario's end
  void setup(double start_time, std::optional<double> stop_time);
  void enter_initialization();
  void exit_initialization();
  void terminate();
  /// Back to where it was instantiated.
  void reset();

  /// @param values  one for each reference
  void get(std::span<const std::uint32_t> references, std::span<double> values);
  void set(std::span<const std::uint32_t> references, std::span<const double> values);
  /// From now on an input has this first or second derivative [per s, per s^2], until it is set again.
  void set_derivative(std::uint32_t reference, int order, double value);

  /// From `t` to `t + h`. @throws Error{invalid_input} when it does not stand at `t`
  void do_step(double t, double h);
  [[nodiscard]] double time() const { return simulation_ ? simulation_->time() : 0.0; }

  /// All that is needed to go on from here.
  [[nodiscard]] std::string save();
  void restore(const std::string& bytes);

 private:
  enum class State { instantiated, initialization, stepping, terminated };

  [[nodiscard]] const UnitVariable& variable(std::uint32_t reference) const;
  void require(bool allowed, const char* call) const;
  /// Builds the simulation with the parameters as they are, unless it is there.
  void open();
  void apply_inputs();

  UnitContent content_;
  State state_ = State::instantiated;
  std::map<std::uint32_t, double> parameters_;  ///< that were set
  std::optional<double> stop_time_;
  std::unique_ptr<mbs::RunInput> input_;
  std::unique_ptr<mbs::Simulation> simulation_;
  /// Value and derivatives of an input since a time; what has been set is handed on before the next step.
  struct Input {
    double since = 0.0;
    Jet jet;
    bool is_new = false;
    [[nodiscard]] double at(double t) const { return jet.f + (t - since) * (jet.d + 0.5 * (t - since) * jet.dd); }
  };
  std::map<std::uint32_t, Input> inputs_;
};

}  // namespace heelstrike::client
