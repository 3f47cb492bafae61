#include "client/sweeps/work_on_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "client/studies/comparison.hpp"
#include "client/sweeps/sweep_plan.hpp"
#include "client/sweeps/sweep_queue.hpp"
#include "client/sweeps/sweep_status.hpp"
#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"
#include "common/process/version.hpp"
#include "common/results/run_folder.hpp"
#include "library/composition/embedded.hpp"
#include "library/composition/shapes.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/execute.hpp"
#include "library/terminal/screen.hpp"
#include "report/shapes.hpp"
#include "report/tables.hpp"
#include "report/units.hpp"
#include "report/write_report.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// Result of a run, or the fact that it was stopped.
struct Outcome {
  ComparisonRow row;
  bool is_stopped = false;
  double seconds = 0.0;
};

/// Name of the last checkpoint of a run in progress, in which the step is; empty = none.
std::string last_checkpoint(const fs::path& run) {
  std::string last;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", ignored)) {
    if (entry.path().extension() == ".ckpt") last = std::max(last, entry.path().filename().string());
  }
  return last;
}

Json ended_event(const SweepRun& run, const Outcome& outcome, const fs::path& folder, const std::string& worker) {
  Json parameters = Json::object();
  for (const auto& [key, value] : outcome.row.parameters) parameters[key] = value;
  return {{"run", run.number},
          {"event", "ended"},
          {"key", run.key},
          {"label", run.point.label},
          {"status", outcome.row.status},
          {"failure", outcome.row.failure},
          {"folder", outcome.row.folder},
          {"parameters", parameters},
          {"quantities", outcome.row.quantities},
          {"seconds", outcome.seconds},
          {"time", server_time(folder)},
          {"worker", worker},
          {"summary_digest", summary_digest(folder / run.point.folder)}};
}

class Work {
 public:
  Work(const WorkOptions& options, const SweepPlan& plan)
      : folder_(options.folder),
        plan_(plan),
        worker_(options.folder, options.lease, options.is_supervised),
        results_(options.folder, plan.size()),
        taken_(plan.size(), false),
        writes_tables_(options.writes_tables),
        recheck_interval_(std::clamp(options.lease / 10.0, 0.02, 1.0)) {
    // Workers that start together begin at different runs: each claim that another one has costs a call of the file
    // system.
    next_ = std::hash<std::string>{}(worker_.id()) % plan.size();
  }

  void until_all_ended(const std::stop_token& stop) {
    results_.refresh();
    bool must_wait = false;  // a claim that was found free was not available
    while (!stop.stop_requested()) {
      const std::optional<std::size_t> run = next_run();
      if (run) {
        compute(plan_.run(*run), stop);
        must_wait = false;
        continue;
      }
      results_.refresh();
      if (results_.have_all_ended()) {
        std::error_code ignored;
        const bool are_missing = writes_tables_ && !fs::exists(folder_ / "comparison.csv", ignored);
        if (is_last_ || are_missing) (void)write_sweep_tables(folder_);
        return;
      }
      if (!find_lost_claims() || must_wait) wait(stop);
      must_wait = true;
    }
  }

 private:
  /// A run that this worker has claimed. None: every run has ended or is claimed.
  std::optional<std::size_t> next_run() {
    for (std::size_t tried = 0; tried < plan_.size(); ++tried) {
      const std::size_t number = next_ + 1;
      next_ = (next_ + 1) % plan_.size();
      if (taken_[number - 1] || results_.run(number).ended) continue;
      taken_[number - 1] = true;
      if (worker_.claim(number)) return number;
    }
    return std::nullopt;
  }

  /// @returns true if a run can be claimed again
  bool find_lost_claims() {
    bool found = false;
    for (std::size_t number = 1; number <= plan_.size(); ++number) {
      if (results_.run(number).ended) continue;
      // Of this worker itself when its results were damaged.
      if (claimant(folder_, number) == worker_.id()) worker_.release(number);
      if (!has_claim(folder_, number)) {
        taken_[number - 1] = false;  // given back by a worker that was stopped
        found = true;
        continue;
      }
      if (const auto loss = worker_.remove_lost_claim(number)) {
        record_loss(plan_.run(number), *loss);
        taken_[number - 1] = results_.run(number).ended;
        found = true;
      }
    }
    return found;
  }

  void record_loss(const SweepRun& run, const LostClaim& loss) {
    const std::string abandoned = run.key + "." + loss.worker;
    std::string kept;
    std::error_code failure;
    if (fs::exists(folder_ / "running" / abandoned, failure)) {
      kept = run.key + "." + worker_.id();
      fs::remove_all(folder_ / "running" / kept, failure);
      // A worker that may only be suspended keeps its folder: it could still write there.
      if (loss.is_gone) {
        fs::rename(folder_ / "running" / abandoned, folder_ / "running" / kept, failure);
      } else {
        fs::copy(folder_ / "running" / abandoned, folder_ / "running" / kept, fs::copy_options::recursive, failure);
      }
      if (failure) kept.clear();
    }
    // It ended before it took the folder of an earlier worker.
    if (kept.empty()) kept = results_.unfinished(run.number);
    print_message("warning", fmt::format("run {} ({}) was lost: worker {} {}", run.number, run.point.label, loss.worker,
                                         loss.reason));
    worker_.record({{"run", run.number},
                    {"event", "lost"},
                    {"worker", loss.worker},
                    {"reason", loss.reason},
                    {"running", kept},
                    {"checkpoint", kept.empty() ? "" : last_checkpoint(folder_ / "running" / kept)}});
    results_.refresh();
    if (!loss.is_crash && results_.run(run.number).losses < max_losses) return;
    Outcome outcome{.row = row_of(run)};
    outcome.row.failure = fmt::format("its worker {} (worker {})", loss.reason, loss.worker);
    if (!loss.is_crash)
      outcome.row.failure += fmt::format("; so did the {} before it, without progress of the run", max_losses - 1);
    if (!worker_.claim(run.number)) return;
    if (!kept.empty()) {
      move_to_end(folder_ / "running" / kept, folder_ / run.point.folder);  // its log is there
      outcome.row.folder = run.point.folder;
    }
    worker_.record(ended_event(run, outcome, folder_, worker_.id()));
    results_.refresh();
  }

  void wait(const std::stop_token& stop) const {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, std::chrono::duration<double>(recheck_interval_), [] { return false; });
  }

  ComparisonRow row_of(const SweepRun& run) const {
    return {.backend = run.point.label, .parameters = parameters_of(run.point), .folder = {}, .failure = {}};
  }

  void compute(const SweepRun& run, const std::stop_token& stop) {
    results_.refresh();  // another worker may have begun the run
    const std::string running = run.key + "." + worker_.id();
    Outcome outcome;
    try {
      outcome = outcome_of(run, folder_ / "running" / running, stop);
    } catch (const Error&) {
      // The files of a run that was taken over may have been removed.
      if (worker_.owns(run.number)) throw;
    }
    if (!worker_.owns(run.number)) {
      print_message("warning", fmt::format("run {} ({}) was taken over while this worker was suspended; its result is "
                                           "discarded",
                                           run.number, run.point.label));
      std::error_code ignored;
      fs::remove_all(folder_ / "running" / running, ignored);
      return;
    }
    if (outcome.is_stopped) {
      worker_.record({{"run", run.number},
                      {"event", "stopped"},
                      {"worker", worker_.id()},
                      {"running", running},
                      {"checkpoint", last_checkpoint(folder_ / "running" / running)}});
      results_.refresh();
      if (results_.run(run.number).losses < max_losses) {
        worker_.release(run.number);
        return;
      }
      outcome.row.status = "failed";
      outcome.row.failure = fmt::format(
          "its workers were stopped {} times before it reached a checkpoint; give them more "
          "time",
          max_losses);
    }
    if (!outcome.row.folder.empty()) move_to_end(folder_ / "running" / running, folder_ / run.point.folder);
    worker_.record(ended_event(run, outcome, folder_, worker_.id()));
    if (!writes_tables_) return;
    results_.refresh();
    is_last_ = results_.n_ended() == results_.size();
  }

  static void move_to_end(const fs::path& running, const fs::path& ended) {
    std::error_code failure;
    fs::remove_all(ended, failure);  // of an earlier sweep
    fs::rename(running, ended, failure);
    if (failure) {
      throw file_error(ended.string(), fmt::format("{} cannot be renamed to {}: {}", running.string(), ended.string(),
                                                   failure.message()));
    }
  }

  /// Continues the run in the folder of a worker that was stopped or lost, if it can be continued.
  std::optional<RunFolder> resumed(const SweepRun& run, const fs::path& path, RunRequest& request) const {
    const std::string unfinished = results_.unfinished(run.number);
    if (unfinished.empty()) return std::nullopt;
    std::error_code failure;
    const fs::path from = folder_ / "running" / unfinished;
    if (from != path) fs::rename(from, path, failure);
    if (failure) return std::nullopt;
    try {
      RunFolder folder = RunFolder::resume(path);
      check_unchanged(request, folder.origin().files);
      request.resume_from = folder.checkpoint();
      for (const std::string& note : folder.notes()) print_message("warning", note);
      return folder;
    } catch (const Error& error) {
      print_message("warning", fmt::format("run {} ({}) is restarted from its beginning: {}", run.number,
                                           run.point.label, error.what()));
      return std::nullopt;
    }
  }

  /// A run that fails is a row with its reason. An error of its folder would be that of every further run.
  Outcome outcome_of(const SweepRun& run, const fs::path& path, const std::stop_token& stop) {
    const auto started = Clock::now();
    Outcome outcome{.row = row_of(run)};
    std::optional<RunRequest> request;
    check_planned_scenario(plan_.header());  // else its runs would not be those of the other workers
    try {
      request = SweepPlan::request(plan_.header(), run.point, schemas_, stop);
    } catch (const Error& error) {
      outcome.row.failure = error.what();
      outcome.is_stopped = error.code() == ErrorCode::cancelled;
      return outcome;
    }
    check_planned_files(plan_.header(), *request);
    try {
      outcome.row.folder = run.point.folder;
      auto folder = resumed(run, path, *request);
      if (!folder) {
        folder.emplace(path, request->yaml, true,
                       RunOrigin{.scenario = plan_.header().scenario, .files = file_digests(*request)},
                       report::table_files());
      }
      report::write_shapes(*folder, body_shapes(request->scenario, request->files, report::max_displayed_triangles));
      const RunSummary summary = execute(*runner_, *request, *folder, true, stop);
      if (plan_.size() <= max_runs_with_page) report::write_results(path, {}, scenario_catalog());
      outcome.row.status = summary.status;
      outcome.is_stopped = summary.status == "cancelled";
      if (summary.status != "completed") outcome.row.failure = summary.error ? summary.error->what() : "stopped";
      std::error_code ignored;
      const bool has_rows = fs::exists(path / "timeseries.csv", ignored);
      outcome.row.quantities =
          quantities_of(summary, has_rows ? find_peak_contact(read_timeseries(path)) : PeakContact{});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::file) throw;
      outcome.row.failure = error.what();
      outcome.is_stopped = error.code() == ErrorCode::cancelled;
      // A run that fails to start leaves a folder as any other: its log is there.
      std::error_code ignored;
      if (!fs::exists(path, ignored)) outcome.row.folder.clear();
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - started).count();
    return outcome;
  }

  fs::path folder_;
  const SweepPlan& plan_;
  SweepWorker worker_;
  SweepResults results_;
  std::vector<bool> taken_;  ///< claimed by some worker, as far as known
  bool writes_tables_;
  bool is_last_ = false;     ///< has ended the last run
  double recheck_interval_;  ///< [s] between two looks at claims of others
  std::size_t next_ = 0;
  BackendSchemas schemas_ = schemas_of(embedded_backends());
  std::unique_ptr<Runner> runner_ = make_embedded_runner();
};

}  // namespace

std::string summary_digest(const fs::path& run) {
  std::error_code ignored;
  const fs::path summary = run / "summary.json";
  return fs::exists(summary, ignored) ? sha256_hex(read_whole_file(summary)).substr(0, 16) : "";
}

Comparison write_sweep_tables(const fs::path& folder) {
  const SweepPlan plan(folder);
  std::map<std::size_t, ComparisonRow> rows;
  SweepResults(folder, plan.size()).refresh([&](const Json& event) {
    if (event.value("event", "") == "ended") rows.emplace(event.value("run", std::size_t{0}), row_of_event(event));
  });
  Comparison comparison;
  comparison.scenario = plan.header().scenario.stem().string();
  comparison.n_planned = plan.size();
  for (auto& [number, row] : rows) comparison.rows.push_back(std::move(row));
  if (!comparison.rows.empty()) {
    const Catalog catalog = scenario_catalog(schemas_of(embedded_backends()));
    for (const auto& [key, value] : comparison.rows.front().parameters) {
      if (const std::string unit = report::unit_of_key(key, catalog); !unit.empty()) comparison.units[key] = unit;
    }
  }
  if (comparison.rows.size() == comparison.n_planned) {
    // Left by workers that were killed while they took a run over.
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder / "running", ignored)) fs::remove_all(entry.path(), ignored);
  }
  write_whole_file(folder / "comparison.csv", comparison.csv());
  write_whole_file(folder / "comparison.json", comparison.json());
  write_whole_file(folder / "comparison.md", comparison.markdown());
  if (!comparison.rows.empty()) (void)report::write_report(folder, scenario_catalog());
  return comparison;
}

void work_on_sweep(const WorkOptions& options, const std::stop_token& stop) {
  const SweepPlan plan(options.folder);
  const SweepHeader& header = plan.header();
  if (header.version != program_version) {
    throw Error(ErrorCode::version_mismatch,
                fmt::format("{}: expected workers of version {}, which planned this sweep, found version {}; start the "
                            "same program on every machine",
                            options.folder.string(), header.version, program_version));
  }
  if (plan.size() == 0) return;
  Work(options, plan).until_all_ended(stop);
}

}  // namespace heelstrike::client
