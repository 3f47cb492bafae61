// heelstrike sweep: a grid of runs of one scenario, computed by workers on this machine or on many.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "client/studies/comparison.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/stored_command.hpp"
#include "client/subcommands/subcommand.hpp"
#include "client/sweeps/plan_sweep.hpp"
#include "client/sweeps/sweep_engines.hpp"
#include "client/sweeps/sweep_plan.hpp"
#include "client/sweeps/sweep_queue.hpp"
#include "client/sweeps/sweep_status.hpp"
#include "client/sweeps/work_on_sweep.hpp"
#include "common/errors/error.hpp"
#include "library/runs/file_kind.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_interval{20};  // bounds the idle time of a core between two runs
constexpr std::chrono::seconds stop_grace{10};          // before a worker is killed
constexpr std::chrono::seconds min_table_interval{2};
constexpr std::size_t max_logged_runs = 100;  // each with a line
constexpr int max_fruitless_starts = 3;       // of workers that end without a result

struct SweepOptions {
  fs::path scenario;
  fs::path output;
  std::vector<std::string> vary;
  unsigned jobs = 0;
  bool quiet = false;
  Overrides overrides;
  std::string engine = "local";
  std::string command;
  std::string slurm;
  WorkOptions work;
  fs::path status_folder;
  fs::path explained_folder;
  long explained_run = 0;
};

/// The runs of a sweep while its workers compute them.
class Follower {
 public:
  Follower(const SweepOptions& options, const fs::path& folder)
      : folder_(folder), quiet_(options.quiet), results_(folder, SweepPlan(folder).size()) {
    refresh();
    n_found_ = results_.n_ended();
  }

  /// Starts workers until every run has ended. @returns the reason why it gave up; empty = all ended, or stopped
  std::string follow(SweepEngine& engine, unsigned n_workers, const std::stop_token& stop) {
    show();
    int fruitless = 0;
    while (!stop.stop_requested()) {
      const std::size_t seen = n_events_;
      const unsigned active = engine.n_active();
      refresh();
      if (n_events_ != seen) {
        fruitless = 0;
        write_table_so_far();
      }
      const bool is_other = std::exchange(n_active_, active) != active;
      if (n_events_ != seen || is_other) show();
      const std::size_t open = results_.size() - results_.n_ended();
      if (open == 0 && active == 0) {
        if (results_.have_all_ended()) return {};
        continue;
      }
      const auto wanted = static_cast<unsigned>(std::min<std::size_t>(n_workers, open));
      if (active == 0 || (active < wanted && engine.replaces_single_workers())) {
        if (n_started_ > 0) {
          if (const std::string refusal = engine.refusal(); !refusal.empty()) return refusal;
          // The first start, and as many replacements as there are workers, come without a result.
          if (++fruitless > max_fruitless_starts * static_cast<int>(n_workers))
            return "the workers end without a result: " + engine.last_message();
        }
        engine.start(wanted - active);
        n_started_ += wanted - active;
        continue;
      }
      std::this_thread::sleep_for(poll_interval);
    }
    engine.stop(stop_grace);
    refresh();
    return {};
  }

  [[nodiscard]] bool all_ended() const { return results_.n_ended() == results_.size(); }
  void clear_line() const {
    if (!quiet_ && ::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  }

 private:
  void refresh() {
    results_.refresh([&](const auto&) { ++n_events_; });
  }

  /// Table and page can be opened while the sweep runs. Writing them takes at most a twentieth of the time.
  void write_table_so_far() {
    const auto begun = Clock::now();
    if (begun < next_table_ || all_ended()) return;
    try {
      (void)write_sweep_tables(folder_);
    } catch (const Error& error) {
      print_message("warning", fmt::format("the table is not up to date: {}", error.what()));
    }
    next_table_ = Clock::now() + std::max<Clock::duration>(min_table_interval, 20 * (Clock::now() - begun));
  }

  /// "12 of 20 runs, 1 failed, 2 running, about 30 s left"
  void show() const {
    if (quiet_) return;
    const std::size_t n = results_.size(), ended = results_.n_ended();
    std::string text = fmt::format("{} of {} runs, {} failed, {} running", ended, n, results_.n_failed(), n_active_);
    if (ended > n_found_ && ended < n) {
      const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
      text += fmt::format(", about {:.0f} s left",
                          elapsed / static_cast<double>(ended - n_found_) * static_cast<double>(n - ended));
    }
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    // A log of thousands of runs has a line every few seconds.
    if (!terminal && n > max_logged_runs && ended < n && Clock::now() < next_line_) return;
    next_line_ = Clock::now() + std::chrono::seconds(2);
    if (const std::size_t width = screen_width(Stream::err); terminal && width > 1) text = text.substr(0, width - 1);
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", text, terminal ? "" : "\n");
    std::fflush(stderr);
  }

  fs::path folder_;
  bool quiet_;
  SweepResults results_;
  std::size_t n_events_ = 0, n_found_ = 0, n_started_ = 0;
  unsigned n_active_ = 0;  ///< workers
  Clock::time_point started_ = Clock::now();
  mutable Clock::time_point next_line_;
  Clock::time_point next_table_ = Clock::now() + min_table_interval;
};

ExitCode sweep(const SweepOptions& options, bool json, const std::stop_token& stop) {
  if (options.scenario.empty()) throw input_error("scenario", "sweep: expected a scenario file, found none");
  if (options.vary.empty()) {
    throw input_error("vary", "sweep: expected --vary KEY=FROM:TO:STEP or --vary KEY=VALUE,VALUE,..., found none");
  }
  if (!options.work.folder.empty() || options.work.writes_tables) {
    throw input_error("worker", "sweep: expected either a scenario with --vary, or --worker FOLDER, found both");
  }
  if (!options.command.empty() && options.engine != "command")
    throw input_error("command", "--command: expected together with --on command");
  if (!options.slurm.empty() && options.engine != "slurm")
    throw input_error("slurm", "--slurm: expected together with --on slurm");
  const fs::path folder = fs::absolute(
      options.output.empty() ? fs::path("runs") / (options.scenario.stem().string() + "-sweep") : options.output);
  const EngineEntry& engine = find_engine(options.engine);
  const EngineOptions engine_options{
      .folder = folder,
      .name = options.scenario.stem().string(),
      .scenario = fs::absolute(options.scenario),
      .lease = options.work.lease,
      .command = options.command,
      .slurm = options.slurm,
      .n_workers = options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency())};
  const auto workers = engine.make != nullptr ? engine.make(engine_options) : nullptr;
  const Descriptor active =
      plan_sweep(folder, {.scenario = options.scenario, .vary = options.vary, .overrides = options.overrides}, stop);
  store_command(folder);
  if (!workers) {
    fmt::print("plan        {}\n{}", folder.string(), engine.instructions(engine_options));
    return ExitCode::ok;
  }
  Follower follower(options, folder);
  const std::string reason = follower.follow(*workers, engine_options.n_workers, stop);
  follower.clear_line();
  const Comparison comparison = write_sweep_tables(folder);
  fmt::print("{}", json ? comparison.json() : comparison.table().fitted(screen_width(Stream::out)));
  if (!json && !options.quiet)
    fmt::print("results     {}\npage        {}\n", folder.string(), file_link(folder / "report.html"));
  for (const std::string& failure : comparison.failures()) print_message("error", failure);
  if (follower.all_ended()) return comparison.exit_code();
  if (!reason.empty()) print_message("error", reason);
  print_message("note", fmt::format("stopped; heelstrike resume {} continues the sweep", folder.string()));
  return stop.stop_requested() ? ExitCode::interrupted : ExitCode::run_failed;
}

/// NaN passes every range.
void check_lease(double lease) {
  if (!std::isfinite(lease))
    throw input_error("lease", fmt::format("--lease: expected 0.1 to 86400 s, found {}", lease));
}

ExitCode work(const SweepOptions& options, const std::stop_token& stop) {
  WorkOptions work = options.work;
  work.folder = fs::absolute(work.folder);
  work_on_sweep(work, stop);
  return stop.stop_requested() ? ExitCode::interrupted : ExitCode::ok;
}

void add_engine_options(CLI::App& command, SweepOptions& options) {
  const std::string group = "Many machines";
  std::string names;
  for (const EngineEntry& engine : sweep_engines())
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", engine.name, engine.summary);
  command.add_option("--on", options.engine, "Engine that starts the workers: " + names)
      ->type_name("ENGINE")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--command", options.command, "Of the engine command: {} is the command of a worker, {n} its number")
      ->type_name("CMD")
      ->group(group);
  command.add_option("--slurm", options.slurm, "Further options of sbatch, e.g. '--partition=short --time=4:00:00'")
      ->type_name("OPTIONS")
      ->group(group);
  command.add_option("--worker", options.work.folder, "Compute runs of the sweep in this folder until all have ended")
      ->type_name("FOLDER")
      ->group(group);
  command.add_flag("--tables", options.work.writes_tables, "With --worker: write the tables after the last run")
      ->group(group);
  command.add_flag("--supervised", options.work.is_supervised)->group("");
  command
      .add_option("--lease", options.work.lease, "Time without a sign of activity after which a worker is replaced [s]")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str()
      ->type_name("SECONDS")
      ->group(group);
}

Action add_sweep(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<SweepOptions>();
  command.add_option("scenario", options->scenario, "Scenario file (YAML)")->type_name("FILE");
  command.add_option("--vary", options->vary, "Key to vary, repeatable: KEY=FROM:TO:STEP or KEY=VALUE,VALUE,...")
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("VARIATION");
  command
      .add_option("-o,--output", options->output,
                  "Folder; default runs/SCENARIO-sweep. Complete runs in it are kept, interrupted ones are "
                  "resumed")
      ->type_name("FOLDER");
  command.add_option("--jobs", options->jobs, "Number of workers; default one per core")->type_name("N");
  add_override_options(command, options->overrides);
  command.add_flag("--quiet", options->quiet, "No progress, only the table and errors");
  command.add_flag("--json", as_json, "Print the table as JSON");
  add_exit_with_parent(command);
  add_engine_options(command, *options);
  CLI::App* status = command.add_subcommand("status", "Progress, rate, failures and workers of a sweep");
  status->add_option("folder", options->status_folder, "Folder of the sweep")->required()->type_name("FOLDER");
  status->add_flag("--json", as_json, "Print the state as JSON");
  CLI::App* explain = command.add_subcommand("explain", "Why a run has its state");
  explain->add_option("folder", options->explained_folder, "Folder of the sweep")->required()->type_name("FOLDER");
  explain->add_option("run", options->explained_run, "Number of the run, from 1")->required()->type_name("RUN");
  return [options, status, explain](bool json, const std::stop_token& stop) {
    if (status->parsed()) {
      const SweepStatus state = sweep_status(options->status_folder);
      fmt::print("{}", json ? state.json() : state.text());
      return ExitCode::ok;
    }
    if (explain->parsed()) {
      fmt::print("{}", explain_run(options->explained_folder, options->explained_run));
      return ExitCode::ok;
    }
    check_lease(options->work.lease);
    const bool is_worker = !options->work.folder.empty() && options->scenario.empty() && options->vary.empty();
    return is_worker ? work(*options, stop) : sweep(*options, json, stop);
  };
}

}  // namespace

Subcommand sweep_command() {
  return {.name = "sweep",
          .summary = "Run a grid of variations of a scenario on the available cores, or on a cluster",
          .examples =
              "  heelstrike sweep examples/bouncing_ball.yaml --vary contact.restitution=0.2:1:0.2\n"
              "  heelstrike sweep my_foot.yaml --vary contact.sole-plate.main.material.youngs_modulus=2e5:4e5:2e4 \\\n"
              "    --on slurm --jobs 20 -o moduli\n"
              "  heelstrike sweep status moduli\n"
              "  heelstrike sweep explain moduli 7\n\n"
              "A failed run is a row with its reason; the exit code is then 3. The same command, or `heelstrike resume "
              "FOLDER`, runs only missing, failed or changed points, and resumes interrupted runs.",
          .add = add_sweep};
}

}  // namespace heelstrike::client
