#include "mbs_server/service/spool.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/output_file.hpp"
#include "common/results/thinning.hpp"
#include "rpc/wire/run_records_wire.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {
namespace {

constexpr int max_joined_values = 1 << 13;  // 64 KiB of doubles per message
constexpr int max_thinned_values =
    1 << 19;  // 4 MiB to select from, so that a fast run does not wake a viewer too often

constexpr std::chrono::milliseconds progress_distance{100};  // ten reports per second suffice for any display

constexpr std::size_t chunk_bytes = 1U << 20U;  // limit of FileChunk

void write(const v1::SubmitRunRequest& part, OutputFile& file) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::util::SerializeDelimitedToZeroCopyStream(part, &stream);
  }
  file.write(bytes);
}

}  // namespace

std::shared_ptr<RunLog> RunLog::create(const std::filesystem::path& file) {
  std::shared_ptr<RunLog> log(new RunLog(file));
  log->writer_ = std::make_unique<wire::EventFileWriter>(file);
  return log;
}

std::shared_ptr<RunLog> RunLog::open_existing(const std::filesystem::path& file) {
  std::shared_ptr<RunLog> log(new RunLog(file));
  wire::EventFileReader reader(file);
  v1::RunEvent event;
  try {
    while (reader.next(event)) {
      log->last_sequence_ = event.sequence();
      log->note(event);
      if (event.has_finished()) log->summary_ = std::make_unique<v1::RunSummary>(event.finished());
    }
  } catch (const Error& damaged) {
    // The run resumes from the last checkpoint before that and repeats the later events.
    spdlog::error("event=spool_damaged reason=\"{}\"", one_line(damaged.what()));
  }
  log->size_ = reader.position();
  log->closed_ = true;
  return log;
}

void RunLog::note(const v1::RunEvent& event) {
  if (event.has_samples() && event.samples().values_size() > 0) {
    usage_.row_bytes += sizeof(double) * static_cast<std::uint64_t>(event.samples().values_size());
    // A log contains single rows with time as the first column.
    if (event.samples().values(0) > usage_.last_time) {
      usage_.last_time = event.samples().values(0);
      usage_.n_failed_restarts = 0;
    }
  }
  if (event.has_fields()) usage_.field_bytes += event.fields().vtu().size();
  if (event.has_resumed()) ++usage_.n_failed_restarts;
  if (event.has_progress()) usage_.progress = event.progress();
  if (event.has_checkpoint()) usage_.checkpoint = std::make_unique<v1::Checkpoint>(event.checkpoint());
}

void RunLog::resume() {
  constexpr std::uint64_t sequence_gap = std::uint64_t{1} << 32U;
  const std::scoped_lock lock(mutex_);
  writer_ = std::make_unique<wire::EventFileWriter>(file_, size_);
  last_sequence_ += sequence_gap;
  closed_ = false;
}

void RunLog::append(v1::RunEvent& event) {
  // Only this thread changes the number, so it can be read without the lock.
  const std::uint64_t sequence = last_sequence_ + 1;
  event.set_sequence(sequence);
  const std::uint64_t size = writer_->append(event);
  bool wakes_watchers = false;
  {
    const std::scoped_lock lock(mutex_);
    size_ = size;
    last_sequence_ = sequence;
    if (event.has_finished()) {
      summary_ = std::make_unique<v1::RunSummary>(event.finished());
      closed_ = true;
    }
    wakes_watchers = closed_ || size_ > wake_size_;
    if (wakes_watchers) wake_size_ = UINT64_MAX;  // a reader that continues to wait sets it again
  }
  if (event.has_finished())
    writer_.reset();  // a server stores many finished runs, each of which would use a descriptor
  if (wakes_watchers) changed_.notify_all();
}

void RunLog::close(const v1::RunEvent& last) {
  writer_.reset();
  auto end = std::make_shared<v1::RunEvent>(last);
  {
    const std::scoped_lock lock(mutex_);
    end->set_sequence(++last_sequence_);
    if (end->has_finished()) summary_ = std::make_unique<v1::RunSummary>(end->finished());
    unwritten_end_ = std::move(end);
    closed_ = true;
  }
  changed_.notify_all();
}

std::shared_ptr<const v1::RunEvent> RunLog::unwritten_end() const {
  const std::scoped_lock lock(mutex_);
  return unwritten_end_;
}

void RunLog::wake() {
  { const std::scoped_lock lock(mutex_); }  // a waiter between its test and its wait must not miss this
  changed_.notify_all();
}

std::uint64_t RunLog::wait_for_events(std::uint64_t position, std::uint64_t batch, Clock::time_point not_before,
                                      const std::function<bool()>& is_cancelled) const {
  std::unique_lock lock(mutex_);
  const auto reached = [&](std::uint64_t size) {
    if (size_ > size || closed_ || is_cancelled()) return true;
    wake_size_ = std::min(wake_size_, size);
    return false;
  };
  if (Clock::now() < not_before) changed_.wait_until(lock, not_before, [&] { return reached(position + batch); });
  changed_.wait(lock, [&] { return reached(position); });
  return size_;
}

std::uint64_t RunLog::last_sequence() const {
  const std::scoped_lock lock(mutex_);
  return last_sequence_;
}

bool RunLog::closed() const {
  const std::scoped_lock lock(mutex_);
  return closed_;
}

std::unique_ptr<v1::RunSummary> RunLog::summary() const {
  const std::scoped_lock lock(mutex_);
  return summary_ ? std::make_unique<v1::RunSummary>(*summary_) : nullptr;
}

RunLogReader::RunLogReader(std::shared_ptr<RunLog> log, std::uint64_t after, WatchRate pace)
    : log_(std::move(log)),
      reader_(log_->file()),
      after_(after),
      rate_limit_(pace),
      max_joined_values_(pace.max_rows > 0 ? max_thinned_values : max_joined_values) {}

bool RunLogReader::read(v1::RunEvent& event) {
  while (reader_.next(event, readable_)) {
    if (event.has_schema()) n_columns_ = static_cast<std::size_t>(event.schema().columns_size());
    if (event.sequence() > after_) return true;
  }
  return false;
}

bool RunLogReader::next(v1::RunEvent& event, const std::function<bool()>& is_cancelled) {
  if (has_prefetched_) {
    event.Swap(&prefetched_);
    has_prefetched_ = false;
  } else {
    while (!read(event)) {
      if (is_cancelled()) return false;
      const std::uint64_t batch = sizeof(double) * static_cast<std::uint64_t>(max_joined_values_);
      const std::uint64_t size = log_->wait_for_events(reader_.position(), batch, next_wait_, is_cancelled);
      next_wait_ = RunLog::Clock::now() + rate_limit_.distance;
      if (size <= reader_.position() || size == readable_) return read_unwritten_end(event);
      readable_ = size;
    }
  }
  if (event.has_samples()) join_rows(event);
  return true;
}

bool RunLogReader::read_unwritten_end(v1::RunEvent& event) {
  const auto end = log_->unwritten_end();
  if (!end || end->sequence() <= after_) return false;
  event = *end;
  after_ = end->sequence();
  return true;
}

void RunLogReader::join_rows(v1::RunEvent& event) {
  auto& values = *event.mutable_samples()->mutable_values();
  while (values.size() < max_joined_values_ && read(prefetched_)) {
    if (!prefetched_.has_samples()) {
      has_prefetched_ = true;
      break;
    }
    values.MergeFrom(prefetched_.samples().values());
    event.set_sequence(prefetched_.sequence());
  }
  if (rate_limit_.max_rows == 0 || n_columns_ == 0) return;
  const auto n_rows = static_cast<std::size_t>(values.size()) / n_columns_;
  const auto kept = rows_with_extremes({values.data(), n_rows * n_columns_}, n_columns_, rate_limit_.max_rows);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    std::copy_n(values.data() + kept[i] * n_columns_, n_columns_, values.mutable_data() + i * n_columns_);
  }
  values.Truncate(static_cast<int>(kept.size() * n_columns_));
  event.mutable_samples()->set_n_skipped_rows(n_rows - kept.size());
}

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

void write_spooled_input(const std::filesystem::path& file, const std::string& digest,
                         const v1::SubmitRunRequest::Header& header, std::span<const AssetContent> files) {
  write_whole_file(file, [&](OutputFile& output) {
    output.write(digest + '\n');
    v1::SubmitRunRequest part;
    *part.mutable_header() = header;
    write(part, output);
    for (const AssetContent& content : files) {
      std::size_t at = 0;
      do {
        auto& chunk = *part.mutable_file();
        chunk.set_name(content.name);
        chunk.set_content(content.content.get().substr(at, chunk_bytes));
        at += chunk_bytes;
        chunk.set_last(at >= content.content.size());
        write(part, output);
      } while (at < content.content.size());
    }
  });
}

std::string digest_of_spooled_input(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  return line;
}

void read_spooled_input(const std::filesystem::path& file, const std::function<bool(v1::SubmitRunRequest&)>& take) {
  std::ifstream stream(file, std::ios::binary);
  std::string digest;
  std::getline(stream, digest);
  google::protobuf::io::IstreamInputStream input(&stream);
  v1::SubmitRunRequest part;
  bool clean_end = false;
  while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&part, &input, &clean_end)) {
    if (!take(part)) return;
    part.Clear();
  }
  if (!clean_end) {
    throw file_error(file.string(), fmt::format("{}: expected the submission of a run, found other bytes; submit "
                                                "the run again",
                                                file.string()));
  }
}

}  // namespace heelstrike::mbs
