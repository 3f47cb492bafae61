#include "library/runs/event_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike {

void EventReader::read(const v1::RunEvent& event) {
  if (event.sequence() <= last_sequence_) return;
  last_sequence_ = event.sequence();
  failed_ = true;
  if (skip_to_ && is_known(event)) return void(failed_ = false);
  forward(event);
  failed_ = false;
}

bool EventReader::is_known(const v1::RunEvent& event) {
  if (event.has_schema()) schema_ = event;
  if (event.has_finished()) {
    throw file_error("checkpoint", fmt::format("expected the checkpoint of step {} of the folder in this run, "
                                               "found none; collect the run into the folder in which it was resumed",
                                               *skip_to_));
  }
  if (event.has_resumed() && event.resumed().has_step() && event.resumed().step() == *skip_to_) {
    skip_to_.reset();
    return false;
  }
  if (event.has_checkpoint() && event.checkpoint().step() == *skip_to_) {
    skip_to_.reset();
    if (schema_.has_schema()) forward(schema_);
  }
  return true;
}

void EventReader::forward(const v1::RunEvent& event) {
  const wire::FieldPath path("event");
  switch (event.event_case()) {
    case v1::RunEvent::kSchema: {
      const auto columns = wire::from_proto(event.schema(), path);
      n_columns_ = columns.size();
      sink_.on_schema(columns);
      break;
    }
    case v1::RunEvent::kSamples:
      read_rows(event.samples());
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
      checkpoint_time_ = event.checkpoint().time();
      break;
    case v1::RunEvent::kResumed:
      std::erase_if(episodes_, [this](const ContactEpisode& e) { return !e.end || *e.end > checkpoint_time_; });
      sink_.on_resumed(event.resumed().has_step() ? std::optional(event.resumed().step()) : std::nullopt);
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

void EventReader::read_rows(const v1::SampleBlock& block) {
  const auto n_values = static_cast<std::size_t>(block.values_size());
  if (n_columns_ == 0 || n_values % n_columns_ != 0) {
    throw Error(ErrorCode::internal,
                fmt::format("the multibody server sent {} values for rows of {} columns", n_values, n_columns_));
  }
  const std::span<const double> values(block.values().data(), n_values);
  for (std::size_t at = 0; at < n_values; at += n_columns_) {
    sink_.on_row(values.subspan(at, n_columns_));
    last_row_time_ = values[at];
    max_time_ = std::max(max_time_, values[at]);
  }
  if (block.n_skipped_rows() > 0) sink_.on_rows_skipped(block.n_skipped_rows());
}

}  // namespace heelstrike
