/// Common base of all analyses: sequence of a run, rows, fields, progress, the energy balance and the summary. An
/// analysis derives from it and implements solve().
#pragma once

#include <chrono>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mbs_server/analysis/analysis_state.hpp"
#include "mbs_server/analysis/field_output.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "mbs_server/simulation/run_table.hpp"

namespace heelstrike::mbs {

class RunBase {
 public:
  /// @param model  of input.scenario; outlives this object
  /// @param loads  the rows contain the loads of all joints and drivers
  RunBase(const RunInput& input, CoupledModel& model, RunSink& sink, std::stop_token stop, bool loads = false);
  virtual ~RunBase() = default;
  RunBase(const RunBase&) = delete;
  RunBase& operator=(const RunBase&) = delete;

  /// The whole run; failures are reported in the summary.
  [[nodiscard]] RunSummary run(const ContactFactory& open_contact);

 protected:
  using Clock = std::chrono::steady_clock;

  /// Performs the checks without contact, then opens the contact and reports the columns.
  virtual void open(const ContactFactory& open_contact);
  /// From the initial state to the end. @returns false when the run was stopped. A run that reaches its end without
  /// some of its rows stores the reason in summary_.error, and is "incomplete".
  [[nodiscard]] virtual bool solve() = 0;
  /// Data for resuming from the committed state, at a restart point.
  [[nodiscard]] virtual Checkpoint save() = 0;
  /// Before the contact is opened. @param n  degrees of freedom remaining with joints and drivers
  /// @throws Error{invalid_input} for a model that the analysis does not support
  virtual void check_degrees_of_freedom(int n) const;
  /// [s] of the initial state.
  [[nodiscard]] virtual double start_time() const { return 0.0; }
  /// False for solutions that need not be a motion: between two equilibria energy may vanish without a dissipation.
  [[nodiscard]] virtual bool has_energy_balance() const { return true; }
  virtual void add_statistics(IntegratorStatistics& /*statistics*/) const {}
  [[nodiscard]] virtual std::vector<Column> columns();
  /// @returns null when the row is complete, as CoupledModel::begin_row
  [[nodiscard]] virtual std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                        std::vector<double>& row);

  /// Evaluates and commits the contact at the state of a motion that does not depend on it, and opens and closes the
  /// pairs.
  void commit_prescribed_state();
  /// Opens and closes the pairs at the state of such a motion that was committed with these responses.
  void accept_prescribed_state(std::span<const Response> responses);
  /// Opens the episodes of pairs in contact in the first state, which was committed with these responses, and writes
  /// the first row.
  void accept_initial_state(std::span<const Response> responses);
  void write_first_row();
  /// Writes fields if the grid of the scenario has a time up to `t` (within rounding) and the state is at that time.
  void write_fields(double t, const VectorX& y);
  /// Fields of a grid whose times lie on rows: writes once if any became due since the last call.
  void write_due_fields(double t, const VectorX& y);
  [[nodiscard]] bool fields_due(double t) const;
  /// Writes fields of one pair at an event of its contact, if requested by the scenario.
  void write_event_fields(std::size_t pair, double t, const VectorX& y);
  /// Writes a row, deferred until its gaps are known; rows are written in order.
  void write_row(double t, const VectorX& y, const VectorX& z);
  /// A restart point: an instant after which this analysis does not depend on earlier computations, in every run.
  /// Writes a checkpoint when the checkpoint period has elapsed, and at a requested stop.
  void at_restart_point();
  void write_checkpoint();
  /// Checkpoint of the committed state with the state of the analysis.
  [[nodiscard]] Checkpoint save_with(const AnalysisState& state);
  /// Restores `resumed_`.
  void restore_resumed();
  /// Waits for the responses of all rows and writes them; called before any later output.
  void finish_rows();
  void report_progress(double step_size);
  void report_preparation(std::string_view stage, double fraction);
  [[nodiscard]] double end_time() const { return input_.scenario.analysis.end_time; }
  [[nodiscard]] auto q(const VectorX& y) const { return y.head(system_.n_q()); }
  [[nodiscard]] auto qd(const VectorX& y) const { return y.segment(system_.n_q(), system_.n_q()); }

  const RunInput& input_;
  CoupledModel& model_;
  System& system_;             ///< of model_
  ContactExchange& exchange_;  ///< of model_
  ContactStates& states_;      ///< of model_
  CommittedState& committed_;  ///< of model_
  RunSink& sink_;
  std::stop_token stop_;
  Clock::time_point started_, last_progress_;
  RunSummary summary_;
  FieldOutputWriter fields_;
  std::optional<RunState> resumed_;  ///< read from the checkpoint before the contact is opened

 private:
  void switch_prescribed_pair(std::size_t pair, const Response& response);
  void finish();
  void finish_energy();
  void check_balance();
  void finish_wall_times();
  [[nodiscard]] double clock() const;
  [[nodiscard]] double wall_time() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  struct Row {
    std::vector<double> values;
    std::shared_ptr<const PendingRequest> request;  ///< null = the row is complete
  };
  void write_completed_rows();
  void note_gaps(std::span<const double> row);
  /// Warns of pairs that never touched, which is rarely intended.
  void report_missing_contact();

  std::optional<ReactionTable> loads_;
  std::deque<Row> rows_;  ///< pending rows
  struct MinGap {
    double gap = std::numeric_limits<double>::infinity();  ///< [m]
    double t = 0.0;                                        ///< [s]
  };
  std::vector<MinGap> min_gaps_;  ///< of each pair in the written rows
  std::string preparation_stage_;
  double checkpoint_due_ = 0.0;    ///< [s] of input_.clock
  Clock::duration fields_time_{};  ///< spent on fields
};

/// Builds the model of a scenario and runs an analysis that does not integrate it.
/// @param options  further arguments of the constructor of `Run`
template <typename Run, typename... Options>
[[nodiscard]] RunSummary run_with_model(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                        std::stop_token stop, Options... options) {
  CoupledModel model(input.scenario, build_model(input.scenario), stop);
  return Run(input, model, sink, std::move(stop), options...).run(open_contact);
}

}  // namespace heelstrike::mbs
