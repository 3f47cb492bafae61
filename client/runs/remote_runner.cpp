#include "client/runs/remote_runner.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/wire/event_file.hpp"
#include "common/wire/run_records_wire.hpp"

namespace heelstrike::client {
namespace {

constexpr std::chrono::seconds take_up_again_within{10};      // a server that restarts or a line that comes back
constexpr std::chrono::milliseconds death_certificate{2000};  // from the effects of a death to the kernel's word of it

std::string sentence_start(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

/// Hands events to a sink, each once and in order.
class RemoteRunner::EventReader {
 public:
  explicit EventReader(RunSink& sink) : sink_(sink) {}

  void take(const v1::RunEvent& event) {
    if (event.sequence() <= last_sequence_) return;
    last_sequence_ = event.sequence();
    failed_ = true;
    hand_on(event);
    failed_ = false;
  }

  /// The last event could not be handed on: an exception came from this side, not from the server.
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::uint64_t last_sequence() const { return last_sequence_; }
  [[nodiscard]] const std::optional<RunSummary>& summary() const { return summary_; }

  /// What is known of a run whose own summary will never come.
  [[nodiscard]] RunSummary summary_without_end(const RunRequest& request, const Error& cause) const {
    RunSummary summary;
    summary.scenario = request.scenario.name;
    summary.backend = backend_label(request.scenario);
    summary.status = "failed";
    summary.simulated_time = progress_.time;
    summary.wall_time = progress_.wall_time;
    summary.integrator.name = request.scenario.analysis.integrator.name;
    summary.integrator.steps = progress_.step;
    summary.contacts = episodes_;
    summary.error = cause;
    return summary;
  }

 private:
  void hand_on(const v1::RunEvent& event) {
    const wire::FieldPath path("event");
    switch (event.event_case()) {
      case v1::RunEvent::kSchema:
        take_schema(wire::from_proto(event.schema(), path));
        break;
      case v1::RunEvent::kSamples:
        take_rows(event.samples());
        break;
      case v1::RunEvent::kProgress:
        progress_ = wire::from_proto(event.progress(), path);
        sink_.on_progress(progress_);
        break;
      case v1::RunEvent::kLog:
        sink_.on_log(event.log().level(), event.log().text());
        break;
      case v1::RunEvent::kEpisode:
        episodes_.push_back(wire::from_proto(event.episode(), path));
        sink_.on_episode(episodes_.back());
        break;
      case v1::RunEvent::kCheckpoint:
        sink_.on_checkpoint(wire::from_proto(event.checkpoint(), path));
        break;
      case v1::RunEvent::kFields:
        sink_.on_fields(wire::from_proto(event.fields(), path));
        break;
      case v1::RunEvent::kFinished:
        summary_ = wire::from_proto(event.finished(), path);
        break;
      case v1::RunEvent::EVENT_NOT_SET:
        break;
    }
  }

  void take_schema(const std::vector<Column>& columns) {
    n_columns_ = columns.size();
    sink_.on_schema(columns);
  }

  void take_rows(const v1::SampleBlock& block) {
    const auto n_values = static_cast<std::size_t>(block.values_size());
    if (n_columns_ == 0 || n_values % n_columns_ != 0) {
      throw Error(ErrorCode::internal,
                  fmt::format("the multibody server sent {} values for rows of {} columns", n_values, n_columns_));
    }
    const std::span<const double> values(block.values().data(), n_values);
    for (std::size_t at = 0; at < n_values; at += n_columns_) sink_.on_row(values.subspan(at, n_columns_));
  }

  RunSink& sink_;
  bool failed_ = false;
  std::size_t n_columns_ = 0;
  std::uint64_t last_sequence_ = 0;
  Progress progress_;
  std::vector<ContactEpisode> episodes_;
  std::optional<RunSummary> summary_;
};

RemoteRunner::RemoteRunner(const ServerOptions& options, std::filesystem::path log)
    : servers_(options, std::move(log)), client_(servers_.mbs(), servers_.mbs_text()) {}

void RemoteRunner::watch(const std::string& run_id, EventReader& reader, std::stop_token stop) {
  auto give_up = std::chrono::steady_clock::now() + take_up_again_within;
  while (!reader.summary()) {
    const std::uint64_t before = reader.last_sequence();
    try {
      client_.watch(
          run_id, before, [&](const v1::RunEvent& event) { reader.take(event); }, stop);
    } catch (const Error& error) {
      const bool may_come_back = error.code() == ErrorCode::unavailable && !servers_.owns_mbs();
      if (reader.last_sequence() > before) give_up = std::chrono::steady_clock::now() + take_up_again_within;
      if (reader.failed() || !may_come_back || stop.stop_requested() || std::chrono::steady_clock::now() >= give_up)
        throw;
      client_.wait_until_connected(std::chrono::duration_cast<std::chrono::milliseconds>(take_up_again_within));
    }
  }
}

Error RemoteRunner::explained(const Error& error) {
  const bool lost_somebody = error.code() == ErrorCode::unavailable || error.code() == ErrorCode::deadline ||
                             error.code() == ErrorCode::not_found;
  const auto casualty = servers_.casualty(lost_somebody ? death_certificate : std::chrono::milliseconds{0});
  if (!casualty) return error;
  return Error(ErrorCode::unavailable, fmt::format("{} in mid-run; what was computed until then is kept ({})",
                                                   sentence_start(*casualty), error.what()));
}

RunSummary RemoteRunner::run(const RunRequest& request, RunSink& sink, std::stop_token stop) {
  EventReader reader(sink);
  finished_run_.clear();
  const std::string run_id = client_.submit(request);
  try {
    watch(run_id, reader, std::move(stop));
  } catch (const Error& error) {
    if (reader.failed()) throw;
    const Error cause = explained(error);
    if (servers_.owns_mbs()) {
      // Every event was written to the file before it was sent, so the file has the rest.
      wire::EventFileReader rest(servers_.event_file(run_id));
      v1::RunEvent event;
      while (rest.next(event)) reader.take(event);
    }
    if (!reader.summary()) return reader.summary_without_end(request, cause);
  }
  finished_run_ = run_id;
  RunSummary summary = *reader.summary();
  if (summary.error) summary.error = explained(*summary.error);
  return summary;
}

void RemoteRunner::release() {
  if (servers_.owns_mbs() || finished_run_.empty()) return;
  client_.forget(std::exchange(finished_run_, {}));
}

}  // namespace heelstrike::client
