#include "library/runs/remote_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "rpc/call.hpp"
#include "rpc/wire/event_file.hpp"
#include "rpc/wire/run_records_wire.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike {
namespace {

constexpr std::chrono::milliseconds poll_interval{200};  // bounds the delay of a stop while the server is unreachable

std::string sentence_start(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

constexpr std::int64_t not_known = -1;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Summary of a run whose own summary is lost: time of the last row and the run itself. All other values are marked as
/// unknown (common/results/summary.hpp).
RunSummary summary_without_end(const EventReader& reader, const RunRequest& request, const Error& cause) {
  RunSummary summary;
  summary.scenario = request.scenario.name;
  summary.backend = backend_label(request.scenario);
  summary.status = "failed";
  summary.simulated_time = reader.last_row_time().value_or(0.0);
  summary.wall_time = reader.progress().wall_time;
  summary.integrator = {.name = request.scenario.analysis.integrator.name,
                        .steps = not_known,
                        .rejected_steps = not_known,
                        .rhs_evaluations = not_known,
                        .jacobian_evaluations = not_known,
                        .restarts = not_known};
  summary.contact_evaluations = summary.contact_commits = not_known;
  summary.energy = {not_a_number, not_a_number, not_a_number, not_a_number, not_a_number};
  summary.wall_times = {not_a_number, not_a_number, not_a_number, not_a_number};
  summary.max_position_violation = summary.max_velocity_violation = not_a_number;
  summary.contacts = reader.episodes();
  summary.error = cause;
  return summary;
}

}  // namespace

RemoteRunner::RemoteRunner(const ServerOptions& options, std::filesystem::path log)
    : reconnect_timeout_(Servers::reconnect_timeout(options)),
      servers_(options, std::move(log)),
      client_(servers_.mbs(), servers_.mbs_text()) {}

void RemoteRunner::forward_messages(RunSink& sink) {
  for (const std::string& message : servers_.take_messages_since()) sink.on_log("warning", sentence_start(message));
}

void RemoteRunner::watch(const std::string& run_id, EventReader& reader, RunSink& sink, std::stop_token stop) {
  rpc::Backoff backoff(reconnect_timeout_, {});
  const auto take = [&](const v1::RunEvent& event) {
    forward_messages(sink);
    const double before = reader.max_time();
    reader.read(event);
    if (reader.max_time() > before) servers_.reset_failed_restarts();
  };
  while (!reader.summary()) {
    const std::uint64_t before = reader.last_sequence();
    try {
      client_.watch(run_id, before, take, stop, at_stop_);
    } catch (const Error& error) {
      if (at_stop_ == SimulationClient::AtStop::leave && stop.stop_requested()) throw;
      // A restarted server that does not have the run reports an error that is not retryable.
      const bool may_reconnect =
          error.code() == ErrorCode::unavailable && error.retryable() && !servers_.restart_failure();
      if (reader.last_sequence() > before) backoff.restart();
      if (reader.failed() || !may_reconnect || stop.stop_requested() || !backoff.pause()) throw;
      forward_messages(sink);
      while (!stop.stop_requested() && !servers_.restart_failure() && backoff.remaining().count() > 0 &&
             !client_.wait_for_connection(std::min(poll_interval, backoff.remaining()))) {
      }
    }
  }
}

Error RemoteRunner::explained(const Error& error) {
  const auto restart_failure = servers_.restart_failure();
  // A private server has only the limits of the machine: a retry cannot succeed.
  if (!restart_failure && error.code() == ErrorCode::limit && servers_.owns_all()) {
    return Error(error.code(), error.what(), error.field());
  }
  if (!restart_failure) return error;
  return Error(ErrorCode::unavailable,
               fmt::format("{}; the results up to then are kept ({})", sentence_start(*restart_failure), error.what()));
}

RunSummary RemoteRunner::run(const RunRequest& request, RunSink& sink, std::stop_token stop) {
  EventReader reader(sink);
  finished_run_.clear();
  if (!attached_run_.empty()) {
    if (!request.resume_from.empty()) {
      reader.skip_to(wire::checkpoint_from(request.resume_from, wire::FieldPath("checkpoint")).step);
    }
    return collect(std::exchange(attached_run_, {}), request, reader, sink, stop);
  }
  const std::string run_id = client_.submit(request, reconnect_timeout_);
  // Identifies the run for `attach` if this program ends early.
  if (!servers_.owns_mbs()) sink.on_log("info", fmt::format("run {} at {}", run_id, servers_.mbs_text()));
  return collect(run_id, request, reader, sink, stop);
}

RunRequest RemoteRunner::attach(const std::string& run_id) {
  RunRequest request = client_.input(run_id);
  attached_run_ = run_id;
  at_stop_ = SimulationClient::AtStop::leave;  // the run is that of another client, too
  return request;
}

void RemoteRunner::cancel(const std::string& run_id) {
  client_.cancel(run_id);
}

RunSummary RemoteRunner::collect(const std::string& run_id, const RunRequest& request, EventReader& reader,
                                 RunSink& sink, const std::stop_token& stop) {
  try {
    watch(run_id, reader, sink, stop);
  } catch (const Error& error) {
    if (reader.failed()) throw;
    if (at_stop_ == SimulationClient::AtStop::leave && stop.stop_requested()) {
      throw Error(ErrorCode::cancelled,
                  fmt::format("detached on request; run {} goes on at {}", run_id, servers_.mbs_text()));
    }
    forward_messages(sink);
    const Error cause = explained(error);
    if (servers_.owns_mbs()) {
      // Every event is written to the file before it is sent, so the file has the remaining ones.
      wire::EventFileReader rest(servers_.event_file(run_id));
      v1::RunEvent event;
      while (rest.next(event)) reader.read(event);
    }
    if (!reader.summary()) return summary_without_end(reader, request, cause);
  }
  forward_messages(sink);
  finished_run_ = run_id;
  RunSummary summary = *reader.summary();
  // When a server is not restarted, the other one is stopped, too, and may report a requested stop: the run has failed,
  // it was not cancelled.
  if (servers_.restart_failure() && summary.status == "cancelled") {
    summary.status = "failed";
    if (!summary.error) summary.error = Error(ErrorCode::cancelled, "stopped on request");
  }
  if (summary.error) summary.error = explained(*summary.error);
  return summary;
}

void RemoteRunner::release() {
  if (servers_.owns_mbs() || finished_run_.empty()) return;
  client_.forget(std::exchange(finished_run_, {}));
}

}  // namespace heelstrike
