/// The units for co-simulation of a model (docs/guide/fmi.md): when they are stepped, and their part of a checkpoint.
///
/// A unit is stepped from t_k = k * step to t_(k+1) when the simulation stands at t_k and its state there is committed
/// for good; what it then gives acts from t_k to t_(k+1). So an integrator that rejects steps, a coupling scheme that
/// tries a macro step again and a commit that the partner refuses never touch its state, and only checkpoints save it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/simulation/run_state.hpp"

namespace heelstrike::mbs {

class FmuSet {
 public:
  /// Of all force elements of `model` that are units.
  explicit FmuSet(const Model& model);
  ~FmuSet();
  FmuSet(const FmuSet&) = delete;
  FmuSet& operator=(const FmuSet&) = delete;

  [[nodiscard]] bool empty() const { return fmus_.empty(); }
  /// Loads and initialises them; once.
  /// @param assets   files of the scenario. @param allowed  machine code of the scenario may be loaded
  /// @param columns  of the time series; those that tell of inputs get the unit of measurement of what they tell of
  /// @throws Error{invalid_input} without permission, for unknown columns, and as load_fmu()
  void open(std::span<const AssetContent> assets, bool allowed, std::vector<Column>& columns);

  /// Names of those that cannot give away their state; without such, save() can be called.
  [[nodiscard]] std::vector<std::string> without_fmu_state() const;

  /// @param macro_step  [s] > 0. @throws Error{invalid_input} for a unit whose step is none of its multiples: a macro
  /// step is tried as a whole, with what units hold
  void check_communication_steps(double macro_step) const;

  /// [s] the next communication point above `t`, or `end` when that comes before.
  [[nodiscard]] double next_after(double t, double end) const;
  /// Some unit waits at `t` to be stepped.
  [[nodiscard]] bool due(double t) const;
  /// Steps them. @param row  of the time series at `t`. @throws Error{solver_failed} when a unit fails or gives what is
  /// not finite
  void do_due_steps(double t, std::span<const double> row);

  [[nodiscard]] std::map<std::string, FmuState> save() const;
  /// @throws Error{invalid_input} for states of other units
  void require(const std::map<std::string, FmuState>& states) const;
  /// @throws Error{solver_failed} for bytes that a unit does not take
  void restore(const std::map<std::string, FmuState>& states);

 private:
  class Running;
  std::vector<std::unique_ptr<Running>> fmus_;
};

}  // namespace heelstrike::mbs
