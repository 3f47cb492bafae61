#include "client/runs/remote_runner.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/wire/event_file.hpp"

namespace heelstrike::client {
namespace {

constexpr std::chrono::seconds take_up_again_within{10};      // a server that restarts or a line that comes back
constexpr std::chrono::milliseconds death_certificate{2000};  // from the effects of a death to the kernel's word of it

std::string sentence_start(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// What is known of a run whose own summary will never come.
RunSummary summary_without_end(const EventReader& reader, const RunRequest& request, const Error& cause) {
  RunSummary summary;
  summary.scenario = request.scenario.name;
  summary.backend = backend_label(request.scenario);
  summary.status = "failed";
  summary.simulated_time = reader.progress().time;
  summary.wall_time = reader.progress().wall_time;
  summary.integrator.name = request.scenario.analysis.integrator.name;
  summary.integrator.steps = reader.progress().step;
  summary.contacts = reader.episodes();
  summary.error = cause;
  return summary;
}

}  // namespace

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
    if (!reader.summary()) return summary_without_end(reader, request, cause);
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
