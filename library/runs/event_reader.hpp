/// Events of a run on the wire, forwarded to a sink.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/results/run_records.hpp"
#include "heelstrike/v1/simulation.pb.h"

namespace heelstrike {

/// Forwards events to a sink, each once and in order.
class EventReader {
 public:
  /// @param sink  outlives the reader
  explicit EventReader(RunSink& sink) : sink_(sink) {}

  /// The sink already has all events up to this step: events before the checkpoint of this step, or before the
  /// resumption from it, are skipped. To be called before the first event.
  void skip_to(std::int64_t step) { skip_to_ = step; }
  /// Skips events that were read before. @throws Error for a malformed event, and exceptions of the sink
  void read(const v1::RunEvent& event);

  /// The last event was not forwarded: an exception came from this side, not from the server.
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }
  /// Set when the last event has arrived.
  [[nodiscard]] const std::optional<RunSummary>& summary() const { return summary_; }
  [[nodiscard]] const Progress& progress() const { return progress_; }
  /// [s] of the last forwarded row; none before the first one
  [[nodiscard]] const std::optional<double>& last_row_time() const { return last_row_time_; }
  /// [s] largest time of the run, also before it was resumed; negative before its first row
  [[nodiscard]] double max_time() const { return max_time_; }
  [[nodiscard]] const std::vector<ContactEpisode>& episodes() const { return episodes_; }

 private:
  [[nodiscard]] bool is_known(const v1::RunEvent& event);
  void forward(const v1::RunEvent& event);
  void read_rows(const v1::SampleBlock& block);

  RunSink& sink_;
  bool failed_ = false;
  std::optional<std::int64_t> skip_to_;  ///< none = reached
  v1::RunEvent schema_;                  ///< the last one that was skipped
  std::size_t n_columns_ = 0;
  std::uint64_t last_sequence_ = 0;
  Progress progress_;
  std::optional<double> last_row_time_;
  double max_time_ = -1.0;
  double checkpoint_time_ = -1.0;  ///< [s] of the last one
  std::vector<ContactEpisode> episodes_;
  std::optional<RunSummary> summary_;
};

}  // namespace heelstrike
