// heelstrike sweep: a grid of runs of one scenario, each in a separate process.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "client/studies/comparison.hpp"
#include "client/studies/sweep_grid.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/stored_command.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/process/process.hpp"
#include "common/results/run_folder.hpp"
#include "library/registries/catalog.hpp"
#include "library/terminal/screen.hpp"
#include "report/write_report.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_interval{20};  // bounds the idle time of a core between two runs
constexpr std::chrono::seconds stop_grace{10};          // before a run is killed

struct SweepOptions {
  fs::path scenario;
  fs::path output;
  std::vector<std::string> vary;
  unsigned jobs = 0;
  bool quiet = false;
  Overrides overrides;
};

enum class State { waiting, running, done, failed };

/// One point of the grid with its run.
struct Task {
  SweepPoint point;
  Overrides overrides;
  State state = State::waiting;
  bool found = false;       ///< completed by an earlier sweep into the same folder
  bool can_resume = false;  ///< begun by an earlier sweep and has a checkpoint
  std::unique_ptr<ChildProcess> child;
  ComparisonRow row;
};

fs::path log_of(const fs::path& folder, const Task& task) {
  return folder / "logs" / (task.point.folder + ".log");
}

std::string last_line(const fs::path& file) {
  std::string text = fs::exists(file) ? read_whole_file(file) : "";
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void read_results(Task& task, const fs::path& folder) {
  const fs::path run = folder / task.point.folder;
  task.row.folder = task.point.folder;
  task.row.summary = read_summary(run);
  if (fs::exists(run / "timeseries.csv")) task.row.largest = find_peak_contact(read_timeseries(run));
}

/// The request of a point. Its values are applied as by --set, which errors then name; the user wrote --vary.
RunRequest request_of(const Task& task, const SweepOptions& options, const BackendSchemas& schemas) {
  try {
    return load_request(options.scenario, task.overrides, schemas);
  } catch (const Error& error) {
    std::string message = error.what();
    for (const std::string& assignment : task.point.assignments) {
      const std::string set = "--set " + config::excerpt(assignment);
      if (message.starts_with(set)) message.replace(0, std::string_view("--set").size(), "--vary");
    }
    throw Error(error.code(), message, error.field());
  }
}

std::vector<Task> make_tasks(const SweepOptions& options, const BackendSchemas& schemas, const fs::path& folder) {
  std::vector<Variation> variations;
  for (const std::string& text : options.vary) variations.push_back(parse_variation(text));
  std::vector<Task> tasks;
  for (SweepPoint& point : sweep_points(variations)) {
    Task task{.point = std::move(point), .overrides = options.overrides, .child = nullptr, .row = {}};
    task.overrides.assignments.insert(task.overrides.assignments.end(), task.point.assignments.begin(),
                                      task.point.assignments.end());
    task.row.backend = task.point.label;
    for (const std::string& assignment : task.point.assignments) {
      const auto equals = assignment.find('=');
      task.row.parameters.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
    }
    task.row.summary.status = "failed";
    const RunRequest request = request_of(task, options, schemas);
    if (is_done(folder / task.point.folder, request.yaml)) {
      task.state = State::done;
      task.found = true;
      read_results(task, folder);
    }
    task.can_resume = can_resume(folder / task.point.folder, request.yaml);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

/// Each run is a process of its own: one that crashes or exhausts the memory is a failed row and leaves the others
/// alone.
std::vector<std::string> arguments_of(const Task& task, const SweepOptions& options, const fs::path& folder) {
  const std::string run = (folder / task.point.folder).string();
  const std::string parent = fmt::format("--exit-with-parent={}", ::getpid());
  if (task.can_resume) return {"resume", run, "--in-process", "--quiet", parent};
  std::vector<std::string> arguments = {
      "run", fs::absolute(options.scenario).string(), "--in-process", "--quiet", parent, "--force", "-o", run};
  if (!task.overrides.backend.empty()) arguments.insert(arguments.end(), {"--backend", task.overrides.backend});
  for (const std::string& assignment : task.overrides.assignments) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  return arguments;
}

void start(Task& task, const SweepOptions& options, const fs::path& folder) {
  std::error_code ignored;
  fs::remove(log_of(folder, task), ignored);
  task.child = std::make_unique<ChildProcess>(ChildOptions{.name = task.point.label,
                                                           .program = "/proc/self/exe",
                                                           .arguments = arguments_of(task, options, folder),
                                                           .log = log_of(folder, task)});
  task.state = State::running;
}

/// Stores the result of a run that has ended.
void finish(Task& task, const ProcessEnd& how, const fs::path& folder) {
  task.child.reset();
  const bool rejected =
      !how.by_signal && (how.code == to_int(ExitCode::file) || how.code == to_int(ExitCode::bad_input));
  if (rejected && std::exchange(task.can_resume, false)) {
    task.state = State::waiting;  // the checkpoint is unusable: restart from the beginning
    return;
  }
  if (fs::exists(folder / task.point.folder / "summary.json")) read_results(task, folder);
  if (how.success()) {
    task.state = State::done;
    return;
  }
  task.state = State::failed;
  if (task.row.summary.error) {
    task.row.failure = task.row.summary.error->what();
    return;
  }
  const std::string last_message = last_line(log_of(folder, task));
  task.row.failure = last_message.empty() ? how.text() : fmt::format("{} ({})", last_message, how.text());
}

/// "12 of 20 runs, 1 failed, 2 running, 0:30 left"
void show(const std::vector<Task>& tasks, Clock::time_point started, bool quiet) {
  if (quiet) return;
  const auto count = [&](State state) {
    return std::count_if(tasks.begin(), tasks.end(), [&](const Task& t) { return t.state == state; });
  };
  const auto found = std::count_if(tasks.begin(), tasks.end(), [](const Task& t) { return t.found; });
  const auto ended = count(State::done) + count(State::failed);
  std::string text = fmt::format("{} of {} runs, {} failed, {} running", ended, tasks.size(), count(State::failed),
                                 count(State::running));
  if (ended > found && ended < static_cast<long>(tasks.size())) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - started).count();
    text += fmt::format(", about {:.0f} s left", elapsed / static_cast<double>(ended - found) *
                                                     static_cast<double>(static_cast<long>(tasks.size()) - ended));
  }
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (const std::size_t width = screen_width(Stream::err); terminal && width > 1) text = text.substr(0, width - 1);
  fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", text, terminal ? "" : "\n");
  std::fflush(stderr);
}

void run_all(std::vector<Task>& tasks, const SweepOptions& options, const fs::path& folder,
             const std::stop_token& stop) {
  const unsigned cores = options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  const auto started = Clock::now();
  show(tasks, started, options.quiet);
  while (true) {
    unsigned running = 0;
    bool changed = false;
    for (Task& task : tasks) {
      if (task.state == State::running) {
        if (stop.stop_requested()) task.child->stop(stop_grace);
        if (const auto how = task.child->ended()) {
          finish(task, *how, folder);
          changed = true;
        }
      }
      running += task.state == State::running ? 1U : 0U;
    }
    // After all ended runs have been counted, so that a free core is used in the same round.
    for (Task& task : tasks) {
      if (running >= cores || stop.stop_requested()) break;
      if (task.state != State::waiting) continue;
      start(task, options, folder);
      ++running;
      changed = true;
    }
    if (changed) show(tasks, started, options.quiet);
    if (running == 0) break;
    std::this_thread::sleep_for(poll_interval);
  }
  if (!options.quiet && ::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
}

ExitCode sweep(const SweepOptions& options, bool json, std::stop_token stop) {
  const BackendSchemas schemas = schemas_of(known_backends({}));
  const fs::path folder = fs::absolute(
      options.output.empty() ? fs::path("runs") / (options.scenario.stem().string() + "-sweep") : options.output);
  std::vector<Task> tasks = make_tasks(options, schemas, folder);
  std::error_code failure;
  fs::create_directories(folder / "logs", failure);
  if (failure)
    throw file_error(folder.string(), fmt::format("{} cannot be created: {}", folder.string(), failure.message()));
  store_command(folder);
  run_all(tasks, options, folder, stop);
  Comparison comparison;
  comparison.scenario = options.scenario.stem().string();
  for (Task& task : tasks) {
    if (task.state == State::waiting) continue;
    comparison.rows.push_back(std::move(task.row));
  }
  write_whole_file(folder / "comparison.csv", comparison.csv());
  write_whole_file(folder / "comparison.json", comparison.json());
  write_whole_file(folder / "comparison.md", comparison.markdown());
  const fs::path page = report::write_report(folder, scenario_catalog());
  fmt::print("{}", json ? comparison.json() : comparison.table().fitted(screen_width(Stream::out)));
  if (!json && !options.quiet) fmt::print("results     {}\npage        {}\n", folder.string(), file_link(page));
  for (const std::string& failure : comparison.failures()) print_message("error", failure);
  if (stop.stop_requested()) {
    print_message("note", fmt::format("stopped; heelstrike resume {} continues the sweep", folder.string()));
    return ExitCode::interrupted;
  }
  return comparison.exit_code();
}

Action add_sweep(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<SweepOptions>();
  add_scenario_argument(command, options->scenario);
  command.add_option("--vary", options->vary, "Key to vary, repeatable: KEY=FROM:TO:STEP or KEY=VALUE,VALUE,...")
      ->required()
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("VARIATION");
  command
      .add_option("-o,--output", options->output,
                  "Folder; default runs/SCENARIO-sweep. Complete runs in it are kept, interrupted ones are "
                  "resumed")
      ->type_name("FOLDER");
  command.add_option("--jobs", options->jobs, "Number of parallel runs; default one per core")->type_name("N");
  add_override_options(command, options->overrides);
  command.add_flag("--quiet", options->quiet, "No progress, only the table and errors");
  command.add_flag("--json", as_json, "Print the table as JSON");
  return [options](bool json, const std::stop_token& stop) { return sweep(*options, json, stop); };
}

}  // namespace

Subcommand sweep_command() {
  return {.name = "sweep",
          .summary = "Run a grid of variations of a scenario on the available cores",
          .examples =
              "  heelstrike sweep examples/bouncing_ball.yaml --vary contact.restitution=0.2:1:0.2\n\n"
              "A failed run is a row with its reason; the exit code is then 3. The same command, or `heelstrike resume "
              "FOLDER`, runs only missing, failed or changed points, and resumes interrupted runs.",
          .add = add_sweep};
}

}  // namespace heelstrike::client
