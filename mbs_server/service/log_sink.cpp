#include "mbs_server/service/log_sink.hpp"

#include <fmt/format.h>

#include <utility>

#include "common/errors/plain_text.hpp"
#include "rpc/wire/run_records_wire.hpp"
#include "scenario/backend_label.hpp"

namespace heelstrike::mbs {
namespace {

constexpr std::chrono::milliseconds progress_distance{100};  // ten reports per second suffice for any display

}  // namespace

LogSink::LogSink(RunLog& log, std::stop_source stop, std::function<void(const Progress&)> on_progress,
                 SinkLimits limits)
    : log_(log), stop_(std::move(stop)), on_progress_(std::move(on_progress)), limits_(limits) {}

void LogSink::fail(const Error& error) {
  failure_ = error;
  stop_.request_stop();
}

void LogSink::append(v1::RunEvent& event) {
  if (failure_) return;
  try {
    log_.append(event);
  } catch (const Error& error) {
    fail(error);
  }
}

void LogSink::on_schema(std::span<const Column> columns) {
  v1::RunEvent event;
  wire::to_proto(columns, *event.mutable_schema());
  append(event);
}

void LogSink::on_row(std::span<const double> values) {
  if (failure_) return;
  row_bytes_ += values.size_bytes();
  if (row_bytes_ > limits_.max_row_bytes) {
    return fail(Error(ErrorCode::limit,
                      fmt::format("the rows of this run take more than the {} MiB that this server stores of a run; "
                                  "choose a larger output.interval, or raise its --max-row-mib",
                                  limits_.max_row_bytes >> 20U),
                      "output.interval", true));
  }
  auto& row = *row_.mutable_samples()->mutable_values();
  row.Clear();
  row.Add(values.begin(), values.end());
  append(row_);
}

void LogSink::on_progress(const Progress& progress) {
  on_progress_(progress);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < progress_distance) return;
  last_progress_ = now;
  v1::RunEvent event;
  wire::to_proto(progress, *event.mutable_progress());
  append(event);
}

void LogSink::on_log(std::string_view level, std::string_view text) {
  v1::RunEvent event;
  event.mutable_log()->set_level(valid_utf8(level));
  event.mutable_log()->set_text(valid_utf8(text));
  append(event);
}

void LogSink::on_episode(const ContactEpisode& episode) {
  v1::RunEvent event;
  wire::to_proto(episode, *event.mutable_episode());
  append(event);
}

void LogSink::on_checkpoint(const Checkpoint& checkpoint) {
  v1::RunEvent event;
  wire::to_proto(checkpoint, *event.mutable_checkpoint());
  append(event);
}

void LogSink::on_fields(const FieldFrame& frame) {
  if (field_limit_reached_) return;
  if (field_bytes_ + frame.vtu.size() > limits_.max_field_bytes) {
    field_limit_reached_ = true;
    on_log("warning",
           fmt::format("no fields from t = {} s on: earlier ones take {} MiB and this server stores {} MiB of a run; "
                       "raise its --max-field-mib, or output.fields.interval",
                       frame.time, field_bytes_ >> 20U, limits_.max_field_bytes >> 20U));
    return;
  }
  field_bytes_ += frame.vtu.size();
  v1::RunEvent event;
  wire::to_proto(frame, *event.mutable_fields());
  append(event);
}

std::optional<Error> LogSink::lost_fields() const {
  if (!field_limit_reached_) return std::nullopt;
  return limit_error("output.fields",
                     fmt::format("fields are missing: this server stores {} MiB of a run (--max-field-mib)",
                                 limits_.max_field_bytes >> 20U));
}

void LogSink::count(const LogUsage& remains) {
  row_bytes_ = remains.row_bytes;
  field_bytes_ = remains.field_bytes;
}

void LogSink::on_resumed(std::optional<std::int64_t> step) {
  v1::RunEvent event;
  event.mutable_resumed();
  if (step) event.mutable_resumed()->set_step(*step);
  append(event);
}

void LogSink::finish(const RunSummary& summary) {
  v1::RunEvent event;
  wire::to_proto(summary, *event.mutable_finished());
  try {
    log_.append(event);
  } catch (const Error& error) {
    if (!failure_) failure_ = error;
    log_.close(event);
  }
}

RunSummary failed_summary(const RunInput& input, const Error& error) {
  RunSummary summary;
  summary.scenario = input.scenario.name;
  summary.backend = backend_label(input.scenario);
  summary.status = "failed";
  summary.integrator.name = input.scenario.analysis.integrator.name;
  summary.error = error;
  return summary;
}

}  // namespace heelstrike::mbs
