/// The co-simulation FMUs of a model (docs/guide/fmi.md): their steps, and their part of a checkpoint.
///
/// An FMU is stepped from t_k = k * step to t_(k+1) when the simulation is at t_k and its state there is finally
/// committed; its outputs then act from t_k to t_(k+1). Rejected integrator steps, repeated macro steps and rejected
/// commits therefore never affect the FMU state, and only checkpoints save it.
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
  /// Of all force elements of `model` that are FMUs.
  explicit FmuSet(const Model& model);
  ~FmuSet();
  FmuSet(const FmuSet&) = delete;
  FmuSet& operator=(const FmuSet&) = delete;

  [[nodiscard]] bool empty() const { return fmus_.empty(); }
  /// Loads and initialises the FMUs; called once.
  /// @param assets   files of the scenario. @param allowed  machine code of the scenario may be loaded
  /// @param columns  of the time series; columns of inputs get the units of measurement of their sources
  /// @throws Error{invalid_input} without permission, for unknown columns, and as load_fmu()
  void open(std::span<const AssetContent> assets, bool allowed, std::vector<Column>& columns);
  /// Checks files, variables and parameters as open(), without loading the FMUs: none of their machine code is run.
  /// @throws Error{invalid_input} as open(), except for binaries that cannot be loaded
  void check_files(std::span<const AssetContent> assets, bool allowed, std::span<const Column> columns) const;

  /// Names of FMUs that cannot serialise their state; save() requires that there are none.
  [[nodiscard]] std::vector<std::string> without_fmu_state() const;

  /// @param macro_step  [s] > 0. @throws Error{invalid_input} for an FMU whose step is not a multiple of it: FMU
  /// outputs are constant within trials of a macro step
  void check_communication_steps(double macro_step) const;

  /// [s] the next communication point above `t`, but not beyond `end`.
  [[nodiscard]] double next_after(double t, double end) const;
  /// True if an FMU must be stepped at `t`.
  [[nodiscard]] bool due(double t) const;
  /// Steps these FMUs. @param row  of the time series at `t`. @throws Error{solver_failed} when an FMU fails or returns
  /// non-finite numbers
  void do_due_steps(double t, std::span<const double> row);

  [[nodiscard]] std::map<std::string, FmuState> save() const;
  /// @throws Error{invalid_input} for states of other FMUs
  void require(const std::map<std::string, FmuState>& states) const;
  /// @throws Error{solver_failed} for bytes that an FMU rejects
  void restore(const std::map<std::string, FmuState>& states);

 private:
  class Running;
  std::vector<std::unique_ptr<Running>> fmus_;
};

}  // namespace heelstrike::mbs
