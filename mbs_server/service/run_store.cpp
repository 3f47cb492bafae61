#include "mbs_server/service/run_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/output_file.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike::mbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* event_extension = ".events";
constexpr const char* owner_extension = ".owner";
constexpr const char* input_extension = ".input";
constexpr std::size_t max_id_length = 64;

void check_id(const std::string& run_id) {
  const bool good = !run_id.empty() && run_id.size() <= max_id_length && run_id.front() != '.' &&
                    std::all_of(run_id.begin(), run_id.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
                    });
  if (!good) {
    throw input_error("run_id", fmt::format("run identifier: expected 1 to {} letters, digits, '.', '_' or '-', not "
                                            "starting with '.', found '{}'",
                                            max_id_length, run_id.substr(0, 2 * max_id_length)));
  }
}

std::string make_session_id() {
  std::random_device device;
  return fmt::format("run-{:08x}{:08x}", device(), device());
}

}  // namespace

RunStore::RunStore(fs::path spool, RunLimits limits, RunFunction run)
    : spool_(std::move(spool)), limits_(limits), run_(std::move(run)) {
  std::error_code failure;
  if (fs::create_directories(spool_, failure)) fs::permissions(spool_, fs::perms::owner_all, failure);
  if (failure) {
    throw file_error(spool_.string(),
                     fmt::format("spool folder {} cannot be created: {}; choose another one with --spool",
                                 spool_.string(), failure.message()));
  }
  const fs::path lock = spool_ / ".lock";
  lock_file_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_file_ < 0) {
    throw file_error(spool_.string(),
                     fmt::format("spool folder {} cannot be written: {}; choose another one with --spool",
                                 spool_.string(), std::generic_category().message(errno)));
  }
  if (::flock(lock_file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_file_);
    throw file_error(spool_.string(),
                     fmt::format("spool folder {} is in use by another mbs_server; use a separate one for every server "
                                 "with --spool",
                                 spool_.string()));
  }
  load_spool();
  remove_expired_locked();  // no other thread uses this store yet
}

RunStore::~RunStore() {
  begin_drain();
  runs_.clear();  // joins their threads
  ::close(lock_file_);
}

void RunStore::load_spool() {
  for (const auto& entry : fs::directory_iterator(spool_)) {
    if (entry.path().extension() != event_extension) continue;
    auto run = std::make_shared<Run>();
    run->log = RunLog::open_existing(entry.path());
    run->interrupted = run->log->summary() == nullptr;
    const fs::path owner = owner_file(entry.path().stem().string());
    if (fs::exists(owner)) run->submission.owner = read_whole_file(owner);
    run->submission.digest = digest_of_spooled_input(input_file(entry.path().stem().string()));
    runs_.emplace(entry.path().stem().string(), std::move(run));
  }
  remove_temporary_files(spool_);
  remove_unknown_inputs();
}

/// Removes inputs of submissions that a server termination interrupted.
void RunStore::remove_unknown_inputs() const {
  std::vector<fs::path> unknown;
  for (const auto& entry : fs::directory_iterator(spool_)) {
    const fs::path extension = entry.path().extension();
    const bool belongs_to_run = extension == owner_extension || extension == input_extension;
    if (belongs_to_run && !runs_.contains(entry.path().stem().string())) unknown.push_back(entry.path());
  }
  std::error_code ignored;  // remaining files are harmless
  for (const fs::path& file : unknown) fs::remove(file, ignored);
}

fs::path RunStore::event_file(const std::string& run_id) const {
  return spool_ / (run_id + event_extension);
}

fs::path RunStore::owner_file(const std::string& run_id) const {
  return spool_ / (run_id + owner_extension);
}

fs::path RunStore::input_file(const std::string& run_id) const {
  return spool_ / (run_id + input_extension);
}

void RunStore::remove_files(const std::string& run_id, std::error_code& failure) const {
  std::error_code ignored;  // most runs have no owner
  fs::remove(owner_file(run_id), ignored);
  fs::remove(input_file(run_id), ignored);
  fs::remove(event_file(run_id), failure);
}

unsigned RunStore::n_running_locked() const {
  return static_cast<unsigned>(
      std::count_if(runs_.begin(), runs_.end(), [](const auto& entry) { return !entry.second->log->closed(); }));
}

unsigned RunStore::n_running() const {
  const std::scoped_lock lock(mutex_);
  return n_running_locked();
}

void RunStore::join_finished_locked() {
  for (auto& [run_id, run] : runs_) {
    if (run->log->closed() && run->thread.joinable()) run->thread.join();
  }
}

// The time of the last write to the spool file is the end of its run, also after restarts.
void RunStore::remove_expired_locked() {
  const auto oldest_kept = fs::file_time_type::clock::now() - limits_.retention_time;
  for (auto it = runs_.begin(); it != runs_.end();) {
    std::error_code failure;
    const bool expired =
        it->second->log->closed() && fs::last_write_time(event_file(it->first), failure) < oldest_kept && !failure;
    if (!expired) {
      ++it;
      continue;
    }
    remove_files(it->first, failure);
    spdlog::info("event=run_expired run={} kept_s={}{}", it->first, limits_.retention_time.count(),
                 failure ? " file=\"" + failure.message() + "\"" : "");
    it = runs_.erase(it);
  }
}

void RunStore::check_can_start_locked(const std::string& run_id) const {
  if (draining_) throw unavailable_error("the multibody server is shutting down and starts no further runs");
  if (!run_id.empty()) {
    check_id(run_id);
    if (runs_.contains(run_id)) {
      throw input_error("run_id",
                        fmt::format("a run named '{}' exists already; choose another name or delete it first", run_id));
    }
  }
  if (n_running_locked() >= limits_.max_running) {
    throw limit_error("max_running",
                      fmt::format("the multibody server runs {} simulations concurrently, which is its limit "
                                  "(--max-runs); try again later",
                                  limits_.max_running));
  }
  if (runs_.size() >= limits_.max_stored_runs) {
    throw limit_error("max_stored_runs",
                      fmt::format("the multibody server stores {} runs, which is its limit (--max-stored-runs); "
                                  "delete finished ones",
                                  limits_.max_stored_runs));
  }
}

void RunStore::check_can_start(const std::string& run_id, const std::string& owner) const {
  const std::scoped_lock lock(mutex_);
  const auto known = runs_.find(run_id);
  // A duplicate can be recognised when the submission is complete.
  if (known != runs_.end() && known->second->submission.owner == owner && !known->second->submission.digest.empty())
    return;
  check_can_start_locked(run_id);
}

bool RunStore::is_duplicate_locked(const std::string& run_id, const Submission& submission) const {
  const auto known = runs_.find(run_id);
  return known != runs_.end() && !submission.digest.empty() && known->second->submission.digest == submission.digest &&
         known->second->submission.owner == submission.owner;
}

std::string RunStore::start(RunInput input, ContactFactory open_contact, const Submission& submission) {
  const std::scoped_lock lock(mutex_);
  if (is_duplicate_locked(input.run_id, submission)) return input.run_id;
  remove_expired_locked();
  check_can_start_locked(input.run_id);
  join_finished_locked();
  while (input.run_id.empty() || runs_.contains(input.run_id)) input.run_id = make_session_id();
  const std::string run_id = input.run_id;
  auto run = std::make_shared<Run>();
  run->submission = submission;
  run->submission.header.Clear();  // large, and stored in the spool from here on
  run->progress.set_end_time(input.scenario.analysis.end_time);
  try {
    if (!submission.owner.empty()) write_whole_file(owner_file(run_id), submission.owner);
    if (!submission.header.scenario_yaml().empty()) {
      write_spooled_input(input_file(run_id), submission.digest, submission.header, input.assets);
    }
    // Last, because it makes the run known: after an earlier termination it can be submitted again.
    run->log = RunLog::create(event_file(run_id));
    launch(run_id, run, [this, retained_input = std::move(input), factory = std::move(open_contact)](Run& started) {
      LogSink sink = make_sink(started);
      // Clients of this run also need the earlier rows.
      if (retained_input.resume_from) sink.on_resumed(retained_input.resume_from->step);
      execute_run(started, retained_input, factory, sink);
    });
  } catch (...) {             // the run did not start
    std::error_code ignored;  // a remaining file is found as interrupted at the next start
    remove_files(run_id, ignored);
    throw;
  }
  runs_.emplace(run_id, run);
  ++counters_.started;
  return run_id;
}

void RunStore::launch(const std::string& run_id, const std::shared_ptr<Run>& run, std::function<void(Run&)> work) {
  {
    const std::scoped_lock active(active_mutex_);
    ++n_active_;
  }
  try {
    run->thread = std::jthread([this, raw = run.get(), kept_work = std::move(work)] {
      kept_work(*raw);
      const std::scoped_lock active(active_mutex_);
      if (--n_active_ == 0) idle_.notify_all();
    });
  } catch (const std::system_error& failure) {  // no thread available
    const std::scoped_lock active(active_mutex_);
    --n_active_;
    throw limit_error("max_running",
                      fmt::format("no thread available for run '{}': {}; try again later", run_id, failure.what()));
  }
}

LogSink RunStore::make_sink(Run& run) const {
  const auto on_progress = [&run](const Progress& progress) {
    const std::scoped_lock lock(run.mutex);
    wire::to_proto(progress, run.progress);
  };
  return {*run.log, run.stop, on_progress,
          SinkLimits{.max_row_bytes = limits_.max_row_bytes, .max_field_bytes = limits_.max_field_bytes}};
}

void RunStore::execute_run(Run& run, const RunInput& input, const ContactFactory& open_contact, LogSink& sink) {
  RunSummary summary;
  try {
    summary = run_(input, open_contact, sink, run.stop.get_token());
  } catch (const Error& error) {
    summary = failed_summary(input, error);
  } catch (const std::exception& defect) {
    summary = failed_summary(
        input, Error(ErrorCode::internal, fmt::format("unexpected failure of the run: {}", defect.what())));
  }
  end(std::move(summary), sink);
}

void RunStore::end(RunSummary summary, LogSink& sink) {
  if (summary.status == "completed" && sink.lost_fields()) {
    summary.status = "incomplete";
    summary.error = sink.lost_fields();
  }
  if (sink.failure()) {
    summary.status = "failed";
    summary.error = sink.failure();
  }
  counters_.steps += static_cast<std::uint64_t>(std::max<std::int64_t>(summary.integrator.steps, 0));
  if (summary.status == "completed") ++counters_.completed;
  if (summary.status == "incomplete") ++counters_.incomplete;
  if (summary.status == "cancelled") ++counters_.cancelled;
  if (summary.status == "failed") ++counters_.failed;
  sink.finish(summary);
}

void RunStore::resume(const ReadInput& read_input, const ContactFactory& open_contact) {
  const std::scoped_lock lock(mutex_);
  for (auto& [run_id, run] : runs_) {
    if (!run->interrupted || !fs::exists(input_file(run_id))) continue;
    try {
      run->log->resume();
      run->progress = run->log->remains().progress;
      launch(run_id, run, [this, id = run_id, read_input, open_contact](Run& resumed) {
        resume_run(resumed, id, read_input, open_contact);
      });
      run->interrupted = false;
      ++counters_.resumed;
    } catch (const Error& error) {
      spdlog::error("event=run_not_resumed run={} reason=\"{}\"", run_id, one_line(error.what()));
    }
  }
}

void RunStore::resume_run(Run& run, const std::string& run_id, const ReadInput& read_input,
                          const ContactFactory& open_contact) {
  const LogUsage& remains = run.log->remains();
  LogSink sink = make_sink(run);
  sink.count(remains);
  RunInput input;
  input.run_id = run_id;
  try {
    if (remains.n_failed_restarts >= max_failed_restarts) {
      throw unavailable_error(fmt::format(
          "the multibody server terminated {} times in this run without getting beyond t = {} s; see its log "
          "for the cause; the run can be resumed from its last checkpoint with another server",
          remains.n_failed_restarts + 1, std::max(0.0, remains.last_time)));
    }
    input = read_input(input_file(run_id), run.stop.get_token());
    input.run_id = run_id;
    if (remains.checkpoint) input.resume_from = wire::from_proto(*remains.checkpoint, wire::FieldPath("checkpoint"));
  } catch (const Error& error) {
    spdlog::error("event=run_not_resumed run={} reason=\"{}\"", run_id, one_line(error.what()));
    RunSummary summary = failed_summary(input, error);
    summary.simulated_time = std::max(0.0, remains.last_time);
    return end(std::move(summary), sink);
  }
  const std::string from = input.resume_from ? fmt::format("t = {} s", input.resume_from->time) : "its beginning";
  spdlog::warn("event=run_resumed run={} from=\"{}\"", run_id, from);
  sink.on_resumed(input.resume_from ? std::optional(input.resume_from->step) : std::nullopt);
  sink.on_log("warning", fmt::format("the multibody server was restarted; the run resumes from {}", from));
  execute_run(run, input, open_contact, sink);
}

fs::path RunStore::input(const std::string& run_id, const Client& client) const {
  (void)find(run_id, client);
  if (!fs::exists(input_file(run_id))) {
    throw not_found_error(fmt::format("the submission of run '{}' was not stored: it is of an earlier version",
                                      run_id.substr(0, 2 * max_id_length)),
                          "run_id");
  }
  return input_file(run_id);
}

std::shared_ptr<RunStore::Run> RunStore::find(const std::string& run_id, const Client& client) const {
  const std::scoped_lock lock(mutex_);
  const auto found = runs_.find(run_id);
  if (found == runs_.end() || !rpc::has_access(found->second->submission.owner, client)) {
    throw not_found_error(
        fmt::format("there is no run named '{}' on this multibody server; it was never submitted here "
                    "or has been deleted",
                    run_id.substr(0, 2 * max_id_length)),
        "run_id");
  }
  return found->second;
}

std::shared_ptr<RunLog> RunStore::log(const std::string& run_id, const Client& client) const {
  return find(run_id, client)->log;
}

void RunStore::cancel(const std::string& run_id, const Client& client) {
  find(run_id, client)->stop.request_stop();
}

v1::RunStatus RunStore::status_of(const std::string& run_id, Run& run) {
  v1::RunStatus status;
  status.set_run_id(run_id);
  const auto summary = run.log->summary();
  if (summary) {
    status.set_state(summary->status());
  } else if (run.interrupted) {
    status.set_state("interrupted");
  } else {
    // Closed without a summary: the last event could not be written.
    status.set_state(run.log->closed() ? "failed" : "running");
  }
  {
    const std::scoped_lock lock(run.mutex);
    *status.mutable_progress() = run.progress;
  }
  if (summary) status.mutable_progress()->set_time(summary->simulated_time());
  status.set_last_sequence(run.log->last_sequence());
  return status;
}

v1::RunStatus RunStore::status(const std::string& run_id, const Client& client) const {
  return status_of(run_id, *find(run_id, client));
}

std::vector<v1::RunStatus> RunStore::list(const Client& client) const {
  const std::scoped_lock lock(mutex_);
  std::vector<v1::RunStatus> all;
  all.reserve(runs_.size());
  for (const auto& [run_id, run] : runs_) {
    if (rpc::has_access(run->submission.owner, client)) all.push_back(status_of(run_id, *run));
  }
  return all;
}

v1::Capacity RunStore::capacity() const {
  const std::scoped_lock lock(mutex_);
  v1::Capacity capacity;
  const auto add = [&capacity](const char* what, std::uint64_t used, std::uint64_t limit) {
    v1::Capacity::Slot& place = *capacity.add_slots();
    place.set_resource(what);
    place.set_used(used);
    place.set_limit(limit);
  };
  add("runs going on", n_running_locked(), limits_.max_running);
  add("runs kept", runs_.size(), limits_.max_stored_runs);
  return capacity;
}

void RunStore::remove(const std::string& run_id, const Client& client) {
  const std::shared_ptr<Run> run = find(run_id, client);
  if (!run->log->closed()) {
    throw order_error(
        fmt::format("run '{}' is still active; cancel it and wait for its end before deleting it", run_id));
  }
  {
    const std::scoped_lock lock(mutex_);
    if (runs_.erase(run_id) == 0) return;
  }
  std::error_code failure;
  remove_files(run_id, failure);
  if (failure) {
    throw file_error(event_file(run_id).string(),
                     fmt::format("spool file of run '{}' cannot be removed: {}", run_id, failure.message()));
  }
}

void RunStore::begin_drain() {
  const std::scoped_lock lock(mutex_);
  draining_ = true;
  for (auto& [run_id, run] : runs_) run->stop.request_stop();
}

bool RunStore::wait_until_idle(std::chrono::milliseconds timeout) {
  std::unique_lock lock(active_mutex_);
  return idle_.wait_for(lock, timeout, [this] { return n_active_ == 0; });
}

}  // namespace heelstrike::mbs
