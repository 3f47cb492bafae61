/// The events of one run: appended by the run's thread, read by any number of watchers at their own speed.
///
/// The run's thread writes to the spool file and wakes whoever waits; it never waits for a watcher. Watchers read the
/// file, not the memory of the run, so a slow or vanished one costs nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

#include "rpc/wire/event_file.hpp"

namespace heelstrike::mbs {

/// What the log of a run that was interrupted tells whoever goes on with it.
struct LogUsage {
  std::unique_ptr<v1::Checkpoint> checkpoint;  ///< the last one; null = there is none
  std::uint64_t row_bytes = 0;                 ///< [bytes] of all rows, those that came again counted again
  std::uint64_t field_bytes = 0;
  int n_failed_restarts = 0;  ///< resumptions since the run got further than ever before
  double last_time = -1.0;    ///< [s] of the rows; negative = there is none
  v1::Progress progress;      ///< the last that was told
};

class RunLog {
 public:
  /// A new log in `file`, which must not exist. @throws Error{file}
  static std::shared_ptr<RunLog> create(const std::filesystem::path& file);
  /// The log of a run of an earlier server: complete or interrupted, never growing. @throws Error{file}
  static std::shared_ptr<RunLog> open_existing(const std::filesystem::path& file);

  /// An existing log that has no last event grows again. Numbers jump, so that an event which a failing disk has lost,
  /// though a watcher has it, leaves no two of one number.
  /// @throws Error{file}
  void resume();
  /// Of the log as it was when open_existing() read it.
  [[nodiscard]] const LogUsage& remains() const { return usage_; }

  /// Numbers the event, writes it and wakes the watchers. Only the run's thread calls this.
  /// @throws Error{file} when it cannot be written; the number is then not used up
  void append(v1::RunEvent& event);
  /// No further event will come and the file does not take the last one: watchers get it from memory.
  void close(const v1::RunEvent& last);
  /// Wakes all waiters, so that they look at their own reasons to stop.
  void wake();

  using Clock = std::chrono::steady_clock;
  /// Waits until there is more than `position` bytes, but before `not_before` only for more than `batch` bytes beyond
  /// it; or until the log is closed, or `give_up` holds. The run's thread wakes a waiter once per batch, not once per
  /// event.
  /// @returns the size up to which the file may be read
  std::uint64_t wait_for_events(std::uint64_t position, std::uint64_t batch, Clock::time_point not_before,
                                const std::function<bool()>& is_cancelled) const;

  [[nodiscard]] std::uint64_t last_sequence() const;
  [[nodiscard]] bool closed() const;
  /// Of the last event, once it is there.
  [[nodiscard]] std::unique_ptr<v1::RunSummary> summary() const;
  /// The last event, numbered, when it could not be written; null when it is in the file or has not come.
  [[nodiscard]] std::shared_ptr<const v1::RunEvent> unwritten_end() const;
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  explicit RunLog(std::filesystem::path file) : file_(std::move(file)) {}

  void note(const v1::RunEvent& event);

  const std::filesystem::path file_;
  LogUsage usage_;
  std::unique_ptr<wire::EventFileWriter> writer_;  ///< the run's thread's; null when no event will follow
  mutable std::mutex mutex_;                       ///< guards what follows
  mutable std::condition_variable changed_;
  std::uint64_t size_ = 0;                        ///< [bytes] whole events in the file
  mutable std::uint64_t wake_size_ = UINT64_MAX;  ///< [bytes] the smallest size that a waiter waits for
  std::uint64_t last_sequence_ = 0;
  bool closed_ = false;
  std::unique_ptr<v1::RunSummary> summary_;
  std::shared_ptr<const v1::RunEvent> unwritten_end_;
};

/// How a watcher wants its rows.
struct WatchRate {
  /// After a wait for news the next one lasts at least so long, unless a full message is there before; the last event
  /// never waits.
  std::chrono::milliseconds distance{50};
  std::size_t max_rows = 0;  ///< of one message, the others thinned away (common/results/thinning.hpp); 0 = every row
};

/// Reads a log event by event; consecutive rows are joined, so that a watcher gets few large messages: without it a run
/// with short steps would make one message per row for each of its watchers.
class RunLogReader {
 public:
  /// @param after  number of the last event that the watcher has
  RunLogReader(std::shared_ptr<RunLog> log, std::uint64_t after, WatchRate pace);

  /// The next event, waiting for it if need be. Joined rows carry the number of the last event they come from.
  /// @returns false when the log has ended or `give_up` holds
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
  v1::RunEvent ahead_;  ///< read while joining rows, not yet handed out
  bool has_ahead_ = false;
};

}  // namespace heelstrike::mbs
