/// A curve of unbounded length in bounded memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "report/pressure_map.hpp"

namespace heelstrike {

struct Sample {
  double time = 0.0;  ///< [s]
  double value = 0.0;
};

/// Stores every sample up to `capacity`, then the minimum and the maximum of every four, repeatedly: old parts become
/// coarser, extremes are preserved.
class SampleHistory {
 public:
  explicit SampleHistory(std::size_t capacity = 4096) : capacity_(capacity) {}

  void add(double time, double value);
  /// At most about `budget` samples in order of time, including the extremes and the last one.
  [[nodiscard]] std::vector<Sample> thinned(std::size_t budget) const;
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }

 private:
  void coarsen();

  std::size_t capacity_;
  std::vector<Sample> samples_;
};

// State of a run in progress for display, in bounded memory.

struct LiveCurve {
  std::string name;  ///< of the column
  std::string unit;
  std::vector<Sample> samples;
  double last = 0.0;
};

struct LiveMap {
  std::string name;            ///< "PAIR BODY"
  double time = 0.0;           ///< [s] of the latest frame
  double peak_pressure = 0.0;  ///< [Pa] so far
  report::PlanView latest;
  report::PlanView peak;
};

/// Progress of a run, without its curves.
struct LiveState {
  std::string state = "running";  ///< "running", "completed", "cancelled", "failed", "interrupted", "incomplete"
  std::string note;               ///< reason of a failure, or loss of the connection
  Progress progress;
  std::uint64_t rows = 0;
  double pace = 0.0;       ///< simulated seconds per second of wall time; 0 = unknown
  double remaining = 0.0;  ///< [s] of wall time; 0 = unknown
  [[nodiscard]] bool over() const { return state != "running"; }
};

/// Written by one thread through RunSink, read by any number of threads.
class LiveRun final : public RunSink {
 public:
  LiveRun() = default;

  void on_schema(std::span<const Column> columns) override;
  void on_row(std::span<const double> values) override;
  void on_rows_skipped(std::uint64_t n_rows) override;
  void on_progress(const Progress& progress) override;
  void on_log(std::string_view level, std::string_view text) override;
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}
  void on_resumed(std::optional<std::int64_t> step) override;
  void on_fields(const FieldFrame& frame) override;

  void set_end_time(double end_time);
  /// Message for the viewer; empty = cleared.
  void set_note(const std::string& note);
  void finish(const std::string& state, const std::string& note);

  [[nodiscard]] LiveState state() const;
  [[nodiscard]] std::vector<std::string> columns() const;
  /// Non-constant curves, each with at most about `budget` samples.
  [[nodiscard]] std::vector<LiveCurve> curves(std::size_t budget) const;
  [[nodiscard]] std::vector<LiveMap> maps(std::size_t n_cells) const;
  /// Changes with every update of the run.
  [[nodiscard]] std::uint64_t version() const;
  /// Lines for a terminal: progress, pace, step size, one small curve per non-constant force.
  [[nodiscard]] std::string text(const std::string& name) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Trace {
    std::size_t column = 0;
    std::string name;
    std::string unit;
    SampleHistory history;
    double last = 0.0;
    bool varies = false;
  };
  struct Print {
    double time = 0.0;
    report::PressureMap map;
  };
  [[nodiscard]] LiveState state_locked() const;

  mutable std::mutex mutex_;  ///< guards all members
  std::uint64_t version_ = 0;
  LiveState state_;
  std::vector<std::string> columns_;
  std::vector<Trace> traces_;
  std::vector<double> row_;
  double previous_time_ = 0.0;
  std::map<std::string, Print> prints_;
  std::optional<Clock::time_point> first_row_;
  double time_at_first_row_ = 0.0;
};

/// A curve of block characters, one per value, scaled from minimum to maximum.
[[nodiscard]] std::string spark_line(const std::vector<double>& values);

// Observable runs: those of a multibody server, or run folders in progress.

struct LiveRunEntry {
  std::string id;     ///< unique, [A-Za-z0-9._-]
  std::string label;  ///< for display
  LiveState state;
};

/// Thread-safe. Observation never affects a run.
class LiveRuns {
 public:
  virtual ~LiveRuns() = default;

  /// Description of the source: "mbs_server at 127.0.0.1:50061".
  [[nodiscard]] virtual std::string source() const = 0;
  /// Active runs first, then the most recent ones. @throws Error{unavailable}
  [[nodiscard]] virtual std::vector<LiveRunEntry> list() = 0;
  /// The run, followed from this call on. @throws Error{not_found}, Error{unavailable}, Error{limit}
  [[nodiscard]] virtual std::shared_ptr<LiveRun> find(const std::string& id) = 0;
  [[nodiscard]] virtual bool can_cancel() const = 0;
  /// Requests that a run stops at its next step. @throws Error{not_found}, Error{unavailable}
  virtual void cancel(const std::string& id) = 0;
};

}  // namespace heelstrike
