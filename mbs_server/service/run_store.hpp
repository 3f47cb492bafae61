/// The runs of one multibody server: executed in separate threads, stored with their events in the spool folder.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "heelstrike/v1/simulation.pb.h"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/spool.hpp"
#include "rpc/server/call_watch.hpp"

namespace heelstrike::mbs {

struct RunLimits {
  unsigned max_running = 32;                        ///< concurrent runs
  unsigned max_stored_runs = 100000;                ///< runs in the spool, including finished ones
  std::chrono::seconds retention_time{7 * 86400};   ///< after its end a run is deleted automatically
  unsigned max_watchers = 256;                      ///< concurrent WatchRun calls
  std::uint64_t max_scenario_bytes = 2ULL << 20U;   ///< [bytes] of the scenario text
  std::uint64_t max_files_bytes = 1024ULL << 20U;   ///< [bytes] of all files of one run together
  std::uint64_t max_field_bytes = 4096ULL << 20U;   ///< [bytes] of all fields of one run together
  std::uint64_t max_row_bytes = 4096ULL << 20U;     ///< [bytes] of all rows of one run together
  std::uint64_t max_upload_bytes = 2048ULL << 20U;  ///< [bytes] of unfinished submissions, half of it for one client
};

/// Owner of a run, and the identity of a submission for duplicate detection.
struct Submission {
  std::string owner = {};   ///< rpc::ClientIdentity::owner of the submitting client
  std::string digest = {};  ///< of the whole submission; empty = never a duplicate
  /// As received; without a scenario the run cannot be resumed after termination of its server.
  v1::SubmitRunRequest::Header header = {};
};

/// Number of server terminations without progress after which the run is regarded as their cause.
inline constexpr int max_failed_restarts = 5;

/// Counters for metrics.
struct RunCounters {
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> incomplete{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::atomic<std::uint64_t> resumed{0};  ///< after termination of an earlier server
  std::atomic<std::uint64_t> steps{0};
};

using RunFunction = std::function<RunSummary(const RunInput&, const ContactFactory&, RunSink&, std::stop_token)>;
/// Creates the input of a run from its submission in the spool; may wait for the contact server.
using ReadInput = std::function<RunInput(const std::filesystem::path& spooled, std::stop_token)>;

/// Thread-safe. The spool folder belongs to one store at a time. Runs of other clients are reported as not found.
class RunStore {
 public:
  /// Creates `spool` (0700) if missing and loads its runs: those without a last event are "interrupted".
  /// Runs that ended longer ago than limits.retention_time are removed, here and at every start of a run.
  /// @param run  executed by the thread of a run; run_scenario in the server
  /// @throws Error{file} when the folder cannot be used or another server uses it
  RunStore(std::filesystem::path spool, RunLimits limits, RunFunction run);
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;
  ~RunStore();

  using Client = rpc::ClientIdentity;
  [[nodiscard]] const RunLimits& limits() const { return limits_; }
  [[nodiscard]] const RunCounters& counters() const { return counters_; }
  [[nodiscard]] unsigned n_running() const;

  /// Starts a run. `input.run_id` empty = a new identifier. A duplicate submission under the same identifier starts no
  /// run: the first reply may have been lost. @returns the identifier
  /// @throws Error{invalid_input} for an identifier that is malformed or taken, Error{limit}, Error{unavailable} while
  ///         draining, Error{file}
  std::string start(RunInput input, ContactFactory open_contact, const Submission& submission = {});
  /// Resumes, in separate threads, the active runs of an earlier server at its termination, from their last checkpoint
  /// or else from their start. A run that has been resumed `max_failed_restarts` times without progress ends as failed.
  /// Called once, before clients connect.
  void resume(const ReadInput& read_input, const ContactFactory& open_contact);
  /// File of the submission, for read_spooled_input(). @throws Error{not_found}, also for a run without stored
  /// submission
  [[nodiscard]] std::filesystem::path input(const std::string& run_id, const Client& client) const;
  /// Performs the checks of `start` that do not depend on files, before these are received. @throws as start
  void check_can_start(const std::string& run_id, const std::string& owner) const;

  /// @throws Error{not_found}
  [[nodiscard]] std::shared_ptr<RunLog> log(const std::string& run_id, const Client& client) const;
  /// Requests cancellation of the run at its next step; no effect on a finished run. @throws Error{not_found}
  void cancel(const std::string& run_id, const Client& client);
  [[nodiscard]] v1::RunStatus status(const std::string& run_id, const Client& client) const;
  /// All runs of the client, by identifier.
  [[nodiscard]] std::vector<v1::RunStatus> list(const Client& client) const;
  /// Removes a finished run. @throws Error{not_found}, Error{out_of_order} while it is running
  void remove(const std::string& run_id, const Client& client);
  /// Usage of the limits.
  [[nodiscard]] v1::Capacity capacity() const;

  /// Rejects new runs and cancels active ones; they end at their next step with their last event in the spool.
  void begin_drain();
  /// Waits until all runs have ended. @returns false when some are still active after `timeout`
  bool wait_until_idle(std::chrono::milliseconds timeout);

 private:
  struct Run {
    std::shared_ptr<RunLog> log;
    Submission submission;
    bool interrupted = false;  ///< of an earlier server, without a last event
    std::stop_source stop;
    std::mutex mutex;  ///< guards progress
    v1::Progress progress;
    std::jthread thread;  ///< last member: joined before the others are destroyed
  };

  void load_spool();
  void remove_unknown_inputs() const;
  [[nodiscard]] LogSink make_sink(Run& run) const;
  void execute_run(Run& run, const RunInput& input, const ContactFactory& open_contact, LogSink& sink);
  void resume_run(Run& run, const std::string& run_id, const ReadInput& read_input, const ContactFactory& open_contact);
  void end(RunSummary summary, LogSink& sink);
  void check_can_start_locked(const std::string& run_id) const;
  [[nodiscard]] bool is_duplicate_locked(const std::string& run_id, const Submission& submission) const;
  void launch(const std::string& run_id, const std::shared_ptr<Run>& run, std::function<void(Run&)> work);
  void remove_files(const std::string& run_id, std::error_code& failure) const;
  [[nodiscard]] unsigned n_running_locked() const;
  void join_finished_locked();
  void remove_expired_locked();
  [[nodiscard]] std::shared_ptr<Run> find(const std::string& run_id, const Client& client) const;
  [[nodiscard]] static v1::RunStatus status_of(const std::string& run_id, Run& run);
  [[nodiscard]] std::filesystem::path event_file(const std::string& run_id) const;
  [[nodiscard]] std::filesystem::path owner_file(const std::string& run_id) const;
  [[nodiscard]] std::filesystem::path input_file(const std::string& run_id) const;

  const std::filesystem::path spool_;
  const RunLimits limits_;
  const RunFunction run_;
  RunCounters counters_;
  int lock_file_ = -1;
  std::mutex active_mutex_;  ///< guards n_active_; never locked together with mutex_ by a run's thread
  std::condition_variable idle_;
  unsigned n_active_ = 0;     ///< threads of runs that have not ended
  mutable std::mutex mutex_;  ///< guards the following members
  bool draining_ = false;
  std::map<std::string, std::shared_ptr<Run>> runs_;
};

}  // namespace heelstrike::mbs
