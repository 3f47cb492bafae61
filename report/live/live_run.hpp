/// State of a run in progress for display, in bounded memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "report/live/sample_history.hpp"
#include "report/pressure_map.hpp"

namespace heelstrike {

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

}  // namespace heelstrike
