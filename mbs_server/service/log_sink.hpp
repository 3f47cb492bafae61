/// Converts the output of a run to events of its log.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "common/results/run_records.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/run_log.hpp"

namespace heelstrike::mbs {

/// Limits of one run in the spool.
struct SinkLimits {
  std::uint64_t max_row_bytes;    ///< further rows end the run: a table must not have gaps
  std::uint64_t max_field_bytes;  ///< further fields are discarded with a warning
};

/// Used from the run's thread only. When the spool cannot be written the run is stopped and the cause is stored.
class LogSink : public RunSink {
 public:
  /// @param on_progress  called for every progress report; the log gets at most ten per second of wall time
  LogSink(RunLog& log, std::stop_source stop, std::function<void(const Progress&)> on_progress, SinkLimits limits);

  void on_schema(std::span<const Column> columns) override;
  void on_row(std::span<const double> values) override;
  void on_progress(const Progress& progress) override;
  void on_log(std::string_view level, std::string_view text) override;
  void on_episode(const ContactEpisode& episode) override;
  void on_checkpoint(const Checkpoint& checkpoint) override;
  void on_resumed(std::optional<std::int64_t> step) override;
  void on_fields(const FieldFrame& frame) override;

  /// Includes the log entries of an earlier server in the counts.
  void count(const LogUsage& remains);
  /// Appends the last event and closes the log.
  void finish(const RunSummary& summary);
  /// Reason for missing fields of the run in the log; none = complete.
  [[nodiscard]] std::optional<Error> lost_fields() const;
  /// Error of writing the spool.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  void append(v1::RunEvent& event);
  void fail(const Error& error);

  RunLog& log_;
  std::stop_source stop_;
  std::function<void(const Progress&)> on_progress_;
  std::optional<Error> failure_;
  v1::RunEvent row_;  ///< reused, so that rows do not allocate
  std::chrono::steady_clock::time_point last_progress_{};
  SinkLimits limits_;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t field_bytes_ = 0;
  bool field_limit_reached_ = false;
};

/// The summary of a run that ended before creating one.
[[nodiscard]] RunSummary failed_summary(const RunInput& input, const Error& error);

}  // namespace heelstrike::mbs
