/// Forward dynamics from the initial state (or a checkpoint) to the end time.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "mbs_server/analysis/run_base.hpp"
#include "mbs_server/simulation/simulation.hpp"

namespace heelstrike::mbs {
namespace {

/// A stop that takes effect at the next restart point, where a checkpoint loses nothing. Restart points are up to a
/// thousand steps apart: if the run does not reach one within `max_wait`, the stop takes effect without a checkpoint.
class StopAtRestartPoint {
 public:
  explicit StopAtRestartPoint(std::stop_token requested)
      : requested_(std::move(requested)), thread_([this](const std::stop_token& ended) { watch(ended); }) {}

  /// For the run: stopped after the wait.
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  [[nodiscard]] bool is_requested() const { return requested_.stop_requested(); }
  /// Until now, in the preparation of the contact, a request is a stop.
  void begin_to_wait() {
    const std::scoped_lock lock(mutex_);
    waits_ = true;
  }
  void stop_now() { stop_.request_stop(); }

 private:
  static constexpr std::chrono::milliseconds max_wait{500};

  void watch(const std::stop_token& ended) {
    const std::stop_callback wake(requested_, [this] {
      { const std::scoped_lock lock(mutex_); }
      changed_.notify_all();
    });
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, ended, [this] { return is_requested(); })) return;
      if (waits_) (void)changed_.wait_for(lock, ended, max_wait, [] { return false; });
    }
    if (!ended.stop_requested()) stop_.request_stop();
  }

  std::stop_token requested_;
  std::stop_source stop_;
  std::mutex mutex_;  ///< guards waits_
  std::condition_variable_any changed_;
  bool waits_ = false;
  std::jthread thread_;  ///< last member: it uses the others
};

/// Advances a Simulation to its end and writes rows, fields, episodes and checkpoints.
class ForwardRun final : public RunBase, private SimulationListener {
 public:
  /// @param simulation  of `input`, not initialised; outlives this object
  ForwardRun(const RunInput& input, Simulation& simulation, RunSink& sink, StopAtRestartPoint& stop)
      : RunBase(input, simulation.model(), sink, stop.token()), simulation_(simulation), stop_request_(stop) {
    simulation_.listen(*this);
  }

 private:
  void open(const ContactFactory& open_contact) override { simulation_.initialise(open_contact); }
  [[nodiscard]] bool solve() override;
  void add_statistics(IntegratorStatistics& statistics) const override { statistics = simulation_.statistics(); }
  [[nodiscard]] std::vector<Column> columns() override {
    return {simulation_.outputs().begin(), simulation_.outputs().end()};
  }
  [[nodiscard]] std::shared_ptr<const PendingRequest> begin_row(double t, const VectorX& y, const VectorX& z,
                                                                std::vector<double>& row) override {
    return simulation_.begin_row(t, y, z, row);
  }

  void on_log(std::string_view level, std::string_view text) override { sink_.on_log(level, text); }
  void on_preparation(std::string_view stage, double fraction) override { report_preparation(stage, fraction); }
  void on_opened() override { sink_.on_schema(columns()); }
  bool on_step(SimulationStep& step) override {
    step_size_ = step.step_size();
    end_row_due_ = false;
    // Rows use the contact history that was valid during the step.
    return write_fields_until(step) && write_rows_until(step);
  }
  void on_commit_response() override {
    if (std::exchange(end_row_due_, false)) write_row(committed_.t, committed_.y, committed_.z);
  }
  void on_event(const SimulationEvent& event) override {
    finish_rows();
    if (event.y != nullptr) write_event_fields(*event.pair, event.t, *event.y);
    if (event.episode != nullptr) sink_.on_episode(*event.episode);
  }
  void on_commit() override {
    write_checkpoint_if_due();
    report_progress(step_size_);
  }
  void on_restart_point() override {
    if (stop_request_.is_requested()) stop_request_.stop_now();
    if (simulation_.can_save()) at_restart_point();
  }
  [[nodiscard]] Checkpoint save() override { return simulation_.save(); }

  /// @returns false when the run was stopped
  bool write_fields_until(SimulationStep& step);
  bool write_rows_until(SimulationStep& step);
  void write_checkpoint_if_due();

  Simulation& simulation_;
  StopAtRestartPoint& stop_request_;
  std::int64_t next_row_ = 0;     ///< index on the regular output grid
  double next_checkpoint_ = 0.0;  ///< [s]
  double step_size_ = 0.0;        ///< [s] of the last step
  bool end_row_due_ = false;      ///< of the last step, after the response of the commit
  VectorX y_, z_;                 ///< of rows and fields inside a step
};

bool ForwardRun::write_fields_until(SimulationStep& step) {
  for (auto due = fields_.next_time(); due && *due <= step.end(); due = fields_.next_time()) {
    step.state_at(*due, y_, z_);
    if (stop_.stop_requested()) return false;
    write_fields(*due, y_);
  }
  return true;
}

bool ForwardRun::write_rows_until(SimulationStep& step) {
  constexpr double many_rows = 1000.0;
  const double interval = input_.scenario.output.interval;
  // Grid times are products, not sums, to avoid drift.
  for (double grid = interval * static_cast<double>(next_row_); grid < step.end();
       grid = interval * static_cast<double>(++next_row_)) {
    // A step of a body at rest may have many thousand rows, which no stop waits for.
    const bool is_long = step.end() - grid > many_rows * interval;
    if (stop_.stop_requested() || (is_long && stop_request_.is_requested())) return false;
    step.state_at(grid, y_, z_);
    write_row(grid, y_, z_);
  }
  if (step.step_size() == 0.0) return true;  // an extrapolation is not a step of the integrator
  const bool on_grid = interval * static_cast<double>(next_row_) == step.end();
  if (on_grid) ++next_row_;
  const StepRows rows = input_.scenario.output.steps;
  const bool step_is_row =
      rows == StepRows::all || (rows == StepRows::contact && (step.is_event() || states_.any_closed()));
  if (!on_grid && !step_is_row && step.end() < end_time()) return true;
  // In contact the commit is about to evaluate this state.
  end_row_due_ = step.commit_is_deferred();
  if (!end_row_due_) write_row(step.end(), step.end_y(), step.end_z());
  return true;
}

void ForwardRun::write_checkpoint_if_due() {
  const auto interval = input_.scenario.output.checkpoint_interval;
  if (!interval || !simulation_.can_save() || committed_.t < next_checkpoint_) return;
  next_checkpoint_ = *interval * static_cast<double>(first_after(*interval, committed_.t));
  RunBase::write_checkpoint();
}

bool ForwardRun::solve() {
  if (simulation_.can_save()) stop_request_.begin_to_wait();
  if (input_.resume_from) {
    next_row_ = model_.totals().next_row;
    fields_.restore(model_.totals().fields);
  } else {
    write_first_row();
    next_row_ = 1;
  }
  if (const auto interval = input_.scenario.output.checkpoint_interval) {
    next_checkpoint_ = *interval * static_cast<double>(first_after(*interval, committed_.t));
  }
  if (!simulation_.advance_to(end_time())) return false;
  if (const auto vibration = simulation_.vibration()) sink_.on_log("warning", *vibration);
  if (const auto unsolved_impacts = simulation_.unsolved_impacts()) sink_.on_log("warning", *unsolved_impacts);
  return true;
}

RunSummary run_forward(const RunInput& input, const ContactFactory& open_contact, RunSink& sink, std::stop_token stop) {
  StopAtRestartPoint stop_request(std::move(stop));
  Simulation simulation(input, stop_request.token());
  return ForwardRun(input, simulation, sink, stop_request).run(open_contact);
}

}  // namespace

AnalysisType forward_analysis() {
  return {{{.name = "forward", .meaning = "motion from loads"}, {.finds_events = true, .steppable = true}},
          run_forward,
          nullptr,
          check_fixed_supports};
}

}  // namespace heelstrike::mbs
