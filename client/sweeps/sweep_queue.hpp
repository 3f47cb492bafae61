/// The queue of a sweep: small files in its folder, on a local or a shared file system (NFS included), and no server.
///
///     plan.jsonl            the runs (SweepPlan)
///     workers/ID            identity of a worker, its time of modification renewed while the worker runs
///     workers/ID.ended      how a worker ended, written by the process that started it
///     claims/NUMBER         hard link to workers/ID: made atomically, on NFS too, by the one worker that has the run
///     results/ID.jsonl      events of a worker, one line each with a check sum, appended
///     running/KEY.ID        run folder in progress
///     FOLDER                run folder of an ended run
///
/// A run belongs to the worker to whose file its claim links. The claim of an ended run remains, so that no other
/// worker can claim it again from an old view of the results. The claim of a worker that has died (its process is gone
/// from this host, or its file was not renewed for its lease) is taken over; a worker that was only suspended notices
/// that its claim has gone before it records a result. Times are those of the file server: clocks of hosts may differ.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace heelstrike::client {

/// A worker ended during a run without a result.
struct LostClaim {
  std::string worker;
  std::string reason;     ///< "its process has ended", "not renewed for 61 s (lease 60 s)"
  bool is_gone = false;   ///< certain: its files may be moved
  bool is_crash = false;  ///< the run itself ended the worker: signal of a defect
};

/// Identity of a worker, as stored in its file.
struct WorkerRecord {
  std::string id;  ///< HOST-PID-START
  std::string host, boot, pid_namespace;
  std::int64_t pid = 0;
  std::uint64_t start = 0;   ///< [clock ticks] of the process since boot: a process number is used again
  double lease = 60.0;       ///< [s]
  std::int64_t starter = 0;  ///< process of this host that records how the worker ends; 0 = none
  std::uint64_t starter_start = 0;
};
[[nodiscard]] WorkerRecord this_worker(double lease);
/// Of another process of this host. @param pid  of a worker that was started
[[nodiscard]] WorkerRecord worker_of(std::int64_t pid);

/// [s] since 1970 by the clock of the file server: the time of modification of a file that is touched now. By that of
/// this machine where nothing may be written.
[[nodiscard]] double server_time(const std::filesystem::path& folder);

/// A worker of this process. Its file is renewed by a thread until the destruction of the object.
class SweepWorker {
 public:
  /// @throws Error{file} also for a file system without hard links
  /// @param is_supervised  the parent of this process records how it ends
  SweepWorker(std::filesystem::path folder, double lease, bool is_supervised);
  ~SweepWorker();
  SweepWorker(const SweepWorker&) = delete;
  SweepWorker& operator=(const SweepWorker&) = delete;

  [[nodiscard]] const std::string& id() const { return record_.id; }
  /// @returns false if another worker has the run or has ended it. @throws Error{file}
  [[nodiscard]] bool claim(std::size_t run);
  /// This worker still has the run. @throws Error{file}
  [[nodiscard]] bool owns(std::size_t run) const;
  /// Gives an unfinished run back.
  void release(std::size_t run) const;
  /// Removes the claim of a worker that has died. Of several workers that try, one succeeds.
  [[nodiscard]] std::optional<LostClaim> remove_lost_claim(std::size_t run) const;
  /// Appends an event to the results of this worker. @throws Error{file}, also if the sweep was planned again
  void record(nlohmann::ordered_json event) const;

 private:
  void renew(const std::stop_token& stop) const;

  std::filesystem::path folder_;
  WorkerRecord record_;
  std::jthread renewal_;
};

/// Reads the events of all workers, each once.
class SweepResults {
 public:
  using OnEvent = std::function<void(const nlohmann::ordered_json&)>;

  /// State of a run, from the events so far.
  struct RunState {
    bool ended = false;
    std::uint8_t losses = 0;  ///< workers that ended during it, one after the other, without progress of its checkpoint
  };

  SweepResults(std::filesystem::path folder, std::size_t n_runs) : folder_(std::move(folder)), runs_(n_runs) {}
  /// Reads what was appended since the last call. A line that is incomplete, or differs from its check sum, is ignored:
  /// its run is repeated; after a file was truncated all are read again. @param on_event  may be empty; of two results
  /// of a run only the first is passed on
  void refresh(const OnEvent& on_event = {});
  /// All runs have ended, by all files as they are now: one may have been cut off after it was read.
  [[nodiscard]] bool have_all_ended();
  [[nodiscard]] const RunState& run(std::size_t number) const { return runs_.at(number - 1); }
  [[nodiscard]] std::size_t n_ended() const { return n_ended_; }
  /// Ended with another status than completed or incomplete.
  [[nodiscard]] std::size_t n_failed() const { return n_failed_; }
  [[nodiscard]] std::size_t size() const { return runs_.size(); }
  /// Folder of a run that was stopped or lost, relative to running/; empty without one.
  [[nodiscard]] std::string unfinished(std::size_t number) const;
  [[nodiscard]] std::size_t n_damaged() const { return n_damaged_; }

 private:
  void read(const std::string& line, const OnEvent& on_event);

  std::filesystem::path folder_;
  std::vector<RunState> runs_;
  std::map<std::string, std::uint64_t> read_;  ///< [bytes] by file
  std::map<std::size_t, std::string> unfinished_;
  std::map<std::size_t, std::string> checkpoints_;  ///< the last one of runs that were lost
  std::size_t n_ended_ = 0;
  std::size_t n_failed_ = 0;
  std::size_t n_damaged_ = 0;
};

/// A line of a results file. @returns none for a line that was damaged
[[nodiscard]] std::string event_line(nlohmann::ordered_json event);
[[nodiscard]] std::optional<nlohmann::ordered_json> read_event(const std::string& line);

/// A worker file, with its age.
struct WorkerState {
  WorkerRecord record;
  double age = 0.0;                  ///< [s] since its last renewal, in the time of the file server
  std::optional<std::string> ended;  ///< how, if its starter recorded it or its process is gone from this host
  [[nodiscard]] bool is_alive() const { return !ended && age <= record.lease; }
};
/// All workers of a folder that have not finished.
[[nodiscard]] std::vector<WorkerState> find_workers(const std::filesystem::path& folder);
/// The claimed runs that have not ended, with their workers.
[[nodiscard]] std::map<std::size_t, std::string> find_claims(const std::filesystem::path& folder,
                                                             const SweepResults& results);
/// Records how a worker process ended. @param id  of worker_of()
void record_worker_end(const std::filesystem::path& folder, const std::string& id, const std::string& how,
                       bool is_crash);
/// The run is claimed.
[[nodiscard]] bool has_claim(const std::filesystem::path& folder, std::size_t run);
/// The worker that has a claim; empty = none, or its claim is damaged.
[[nodiscard]] std::string claimant(const std::filesystem::path& folder, std::size_t run);

/// Subfolders of a sweep. @throws Error{file}
void make_queue_folders(const std::filesystem::path& folder);
/// Calls `on_event` for all intact events in a folder.
void for_each_event(const std::filesystem::path& folder, const SweepResults::OnEvent& on_event);
/// Removes claims, workers and results of an ended plan and stores events instead. No worker may be alive.
void reset_queue(const std::filesystem::path& folder, const std::vector<std::string>& event_lines);

}  // namespace heelstrike::client
