/// The spool of one run: its events, appended by the run's thread and read by any number of watchers independently, and
/// its submission, from which it is resumed after termination of the server.
///
/// The run's thread writes to the spool file and wakes waiting watchers; it never waits for a watcher. Watchers read
/// the file, not the memory of the run, so slow or disconnected watchers have no cost.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"
#include "heelstrike/v1/simulation.pb.h"
#include "mbs_server/analysis/run.hpp"
#include "rpc/wire/event_file.hpp"

namespace heelstrike::mbs {

/// Content of the log of an interrupted run, for its resumption.
struct LogUsage {
  std::unique_ptr<v1::Checkpoint> checkpoint;  ///< the last one; null = none
  std::uint64_t row_bytes = 0;                 ///< [bytes] of all rows, including repeated ones
  std::uint64_t field_bytes = 0;
  int n_failed_restarts = 0;  ///< resumptions since the run last made new progress
  double last_time = -1.0;    ///< [s] of the rows; negative = none
  v1::Progress progress;      ///< the last reported
};

class RunLog {
 public:
  /// A new log in `file`, which must not exist. @throws Error{file}
  static std::shared_ptr<RunLog> create(const std::filesystem::path& file);
  /// The log of a run of an earlier server: complete or interrupted, read-only. @throws Error{file}
  static std::shared_ptr<RunLog> open_existing(const std::filesystem::path& file);

  /// Continues an existing log without last event. Sequence numbers jump, so that they remain unique even if a failing
  /// disk has lost events that a watcher has received.
  /// @throws Error{file}
  void resume();
  /// State of the log when open_existing() read it.
  [[nodiscard]] const LogUsage& remains() const { return usage_; }

  /// Numbers the event, writes it and wakes the watchers. Only the run's thread calls this.
  /// @throws Error{file} when it cannot be written; the number is then not used
  void append(v1::RunEvent& event);
  /// Closes the log when the last event cannot be written to the file: watchers receive it from memory.
  void close(const v1::RunEvent& last);
  /// Wakes all waiters, so that they check their stop conditions.
  void wake();

  using Clock = std::chrono::steady_clock;
  /// Waits for more than `position` bytes, before `not_before` for more than `batch` bytes beyond it, or until the log
  /// is closed or `is_cancelled` returns true. The run's thread wakes a waiter once per batch, not once per event.
  /// @returns the size up to which the file may be read
  std::uint64_t wait_for_events(std::uint64_t position, std::uint64_t batch, Clock::time_point not_before,
                                const std::function<bool()>& is_cancelled) const;

  [[nodiscard]] std::uint64_t last_sequence() const;
  [[nodiscard]] bool closed() const;
  /// Summary of the last event; null before it.
  [[nodiscard]] std::unique_ptr<v1::RunSummary> summary() const;
  /// The last event, numbered, if it could not be written; null if it is in the file or pending.
  [[nodiscard]] std::shared_ptr<const v1::RunEvent> unwritten_end() const;
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  explicit RunLog(std::filesystem::path file) : file_(std::move(file)) {}

  void note(const v1::RunEvent& event);

  const std::filesystem::path file_;
  LogUsage usage_;
  std::unique_ptr<wire::EventFileWriter> writer_;  ///< used by the run's thread; null when no event will follow
  mutable std::mutex mutex_;                       ///< guards the following members
  mutable std::condition_variable changed_;
  std::uint64_t size_ = 0;                        ///< [bytes] whole events in the file
  mutable std::uint64_t wake_size_ = UINT64_MAX;  ///< [bytes] minimum size for which a waiter waits
  std::uint64_t last_sequence_ = 0;
  bool closed_ = false;
  std::unique_ptr<v1::RunSummary> summary_;
  std::shared_ptr<const v1::RunEvent> unwritten_end_;
};

/// Rate and thinning of rows for a watcher.
struct WatchRate {
  /// Minimum interval between waits for events, unless a full message is available; the last event is never delayed.
  std::chrono::milliseconds distance{50};
  std::size_t max_rows = 0;  ///< of one message, after thinning (common/results/thinning.hpp); 0 = every row
};

/// Reads a log event by event. Consecutive rows are joined, so that a watcher receives few large messages instead of
/// one message per row.
class RunLogReader {
 public:
  /// @param after  number of the last event that the watcher has
  RunLogReader(std::shared_ptr<RunLog> log, std::uint64_t after, WatchRate pace);

  /// The next event, waiting for it if necessary. Joined rows have the number of their last event.
  /// @returns false when the log has ended or `is_cancelled` returns true
  bool next(v1::RunEvent& event, const std::function<bool()>& is_cancelled);

 private:
  bool read(v1::RunEvent& event);
  bool read_unwritten_end(v1::RunEvent& event);
  void join_rows(v1::RunEvent& event);

  std::shared_ptr<RunLog> log_;
  wire::EventFileReader reader_;
  std::uint64_t after_;
  WatchRate rate_limit_;
  int max_joined_values_;
  std::size_t n_columns_ = 0;
  RunLog::Clock::time_point next_wait_{};
  std::uint64_t readable_ = 0;
  v1::RunEvent prefetched_;  ///< read while joining rows, not yet returned
  bool has_prefetched_ = false;
};

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

// A submission is stored as a first line with its digest, then SubmitRunRequest messages as received, each preceded by
// its length as a varint.

/// Writes the file atomically. @throws Error{file}
void write_spooled_input(const std::filesystem::path& file, const std::string& digest,
                         const v1::SubmitRunRequest::Header& header, std::span<const AssetContent> files);
/// The first line; empty if there is none.
[[nodiscard]] std::string digest_of_spooled_input(const std::filesystem::path& file);
/// Passes the messages in sequence until the callback returns false. @throws Error{file} for a damaged file
void read_spooled_input(const std::filesystem::path& file, const std::function<bool(v1::SubmitRunRequest&)>& take);

}  // namespace heelstrike::mbs
