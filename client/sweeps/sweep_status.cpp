#include "client/sweeps/sweep_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>

#include "client/sweeps/sweep_plan.hpp"
#include "client/sweeps/work_on_sweep.hpp"
#include "common/errors/error.hpp"
#include "common/text/table.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t max_displayed = 10;
constexpr double min_slow_seconds = 10.0;  // shorter runs are no reason to look

/// [s] since the folder of a run in progress was begun, in the time of the file server; 0 = not begun.
double running_time(const fs::path& folder, const std::string& key, const std::string& worker, double now) {
  std::error_code failure;
  const auto begun = fs::last_write_time(folder / "running" / (key + "." + worker) / "scenario.yaml", failure);
  if (failure) return 0.0;
  const auto system = std::chrono::file_clock::to_sys(begun).time_since_epoch();
  return now - std::chrono::duration<double>(system).count();
}

std::string run_list(const std::vector<std::size_t>& runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), max_displayed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", runs[i]);
  return runs.size() > max_displayed ? fmt::format("{}, and {} more", text, runs.size() - max_displayed) : text;
}

std::string state_of(const WorkerState& worker) {
  if (worker.ended) return "ended: " + *worker.ended;
  if (worker.is_alive()) return "active";
  return fmt::format("not renewed for {:.0f} s (lease {:g} s)", worker.age, worker.record.lease);
}

}  // namespace

ComparisonRow row_of_event(const Json& event) {
  ComparisonRow row{.backend = event.value("label", ""),
                    .folder = event.value("folder", ""),
                    .status = event.value("status", "failed"),
                    .failure = event.value("failure", "")};
  const Json parameters = event.value("parameters", Json::object()),
             quantities = event.value("quantities", Json::object());
  for (const auto& [key, value] : parameters.items()) row.parameters.emplace_back(key, value);
  for (const auto& [key, value] : quantities.items()) row.quantities[key] = value;
  return row;
}

SweepStatus sweep_status(const fs::path& folder) {
  const SweepPlan plan(folder);
  SweepStatus status{.n_runs = plan.size()};
  SweepResults results(folder, plan.size());
  std::vector<double> seconds, times;
  results.refresh([&](const Json& event) {
    const std::string kind = event.value("event", "");
    if (kind == "lost") ++status.n_lost;
    if (kind != "ended") return;
    const std::string outcome = event.value("status", "");
    if (outcome == "incomplete") ++status.n_incomplete;
    if (outcome != "completed" && outcome != "incomplete") ++status.n_failed;
    if (outcome != "completed") status.failures[event.value("failure", "")].push_back(event.value("run", 0U));
    seconds.push_back(event.value("seconds", 0.0));
    times.push_back(event.value("time", 0.0));
  });
  status.n_ended = results.n_ended();
  status.n_damaged = results.n_damaged();
  if (!times.empty()) {
    std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
    status.median_seconds = seconds[seconds.size() / 2];
    std::ranges::sort(times);
    const auto first = std::ranges::lower_bound(times, times.back() - 60.0);
    const double span = times.back() - *first;
    if (span > 0.0) status.rate = static_cast<double>(times.end() - first - 1) / span;
  }
  status.workers = find_workers(folder);
  const auto claims = find_claims(folder, results);
  const double now = server_time(folder);
  for (const auto& [number, worker] : claims) {
    const auto found = std::ranges::find(status.workers, worker, [](const WorkerState& w) { return w.record.id; });
    if (found == status.workers.end() || !found->is_alive()) continue;
    ++status.n_running;
    const double time = running_time(folder, plan.run(number).key, worker, now);
    if (!seconds.empty() && time > std::max(slow_factor * status.median_seconds, min_slow_seconds))
      status.slow.push_back({.number = number, .worker = worker, .seconds = time});
  }
  return status;
}

std::string SweepStatus::text() const {
  std::string text = fmt::format("runs        {} of {} ended, {} failed, {} incomplete, {} running\n", n_ended, n_runs,
                                 n_failed, n_incomplete, n_running);
  if (rate > 0.0) {
    text += fmt::format("rate        {:.3g} runs/s", rate);
    if (n_ended < n_runs) text += fmt::format(", about {:.0f} s left", static_cast<double>(n_runs - n_ended) / rate);
    text += fmt::format("; median of a run {:.3g} s\n", median_seconds);
  }
  if (n_lost > 0) text += fmt::format("lost        {} times a worker ended during a run, which was repeated\n", n_lost);
  if (n_damaged > 0) text += fmt::format("damaged     {} lines of results, whose runs are repeated\n", n_damaged);
  std::size_t displayed = 0;
  for (const auto& [reason, runs] : failures) {
    if (++displayed > max_displayed) break;
    text += fmt::format("failure     {}: run{} {}\n", reason, runs.size() == 1 ? "" : "s", run_list(runs));
  }
  if (failures.size() > max_displayed)
    text += fmt::format("failure     and {} other reasons: column failure of comparison.csv\n",
                        failures.size() - max_displayed);
  for (const SlowRun& run : slow) {
    text += fmt::format("slow        run {}: {:.0f} s on {}\n", run.number, run.seconds, run.worker);
  }
  if (!workers.empty()) {
    Table table;
    table.header = {"worker", "state"};
    for (const WorkerState& worker : workers) table.rows.push_back({worker.record.id, state_of(worker)});
    text += table.aligned();
  } else if (n_ended < n_runs) {
    text += "no worker is active; heelstrike resume FOLDER continues the sweep\n";
  }
  return text;
}

std::string SweepStatus::json() const {
  Json json = {{"runs", n_runs},
               {"ended", n_ended},
               {"failed", n_failed},
               {"incomplete", n_incomplete},
               {"running", n_running},
               {"lost", n_lost},
               {"damaged_lines", n_damaged},
               {"median_s", median_seconds},
               {"rate_per_s", rate},
               {"failures", Json::array()},
               {"slow", Json::array()},
               {"workers", Json::array()}};
  for (const auto& [reason, runs] : failures) json["failures"].push_back({{"reason", reason}, {"runs", runs}});
  for (const SlowRun& run : slow)
    json["slow"].push_back({{"run", run.number}, {"worker", run.worker}, {"seconds", run.seconds}});
  for (const WorkerState& worker : workers) {
    json["workers"].push_back({{"id", worker.record.id},
                               {"host", worker.record.host},
                               {"active", worker.is_alive()},
                               {"state", state_of(worker)}});
  }
  return json.dump(2) + "\n";
}

std::string explain_run(const fs::path& folder, long run_number) {
  const SweepPlan plan(folder);
  if (run_number < 1 || run_number > static_cast<long>(plan.size())) {
    throw input_error("run", fmt::format("expected a run from 1 to {}, found {}", plan.size(), run_number));
  }
  const auto number = static_cast<std::size_t>(run_number);
  const SweepRun run = plan.run(number);
  SweepResults results(folder, plan.size());
  std::string history, result;
  results.refresh([&](const Json& event) {
    if (event.value("run", std::size_t{0}) != number) return;
    const std::string kind = event.value("event", "");
    if (kind == "lost")
      history += fmt::format("lost        worker {} {}\n", event.value("worker", ""), event.value("reason", ""));
    if (kind == "stopped") history += fmt::format("stopped     with files in running/{}\n", event.value("running", ""));
    if (kind != "ended") return;
    result = fmt::format("{:11} in {:.3g} s by worker {}\n", event.value("status", ""), event.value("seconds", 0.0),
                         event.value("worker", ""));
    if (const std::string failure = event.value("failure", ""); !failure.empty())
      result += fmt::format("reason      {}\n", failure);
    if (const std::string name = event.value("folder", ""); !name.empty())
      result += fmt::format("folder      {}\n", (folder / name).string());
  });
  std::string text = fmt::format("run         {} of {}: {}\n{}", number, plan.size(), run.point.label, history);
  if (!result.empty()) return text + result;
  const auto workers = find_workers(folder);
  const std::string owner = claimant(folder, number);
  const auto found = std::ranges::find(workers, owner, [](const WorkerState& w) { return w.record.id; });
  const auto n_alive = std::ranges::count_if(workers, [](const WorkerState& w) { return w.is_alive(); });
  const std::string retry = n_alive > 0 ? fmt::format("one of {} active workers takes it over", n_alive)
                                        : "no worker is active; heelstrike resume continues the sweep";
  if (owner.empty()) {
    return text + fmt::format("waiting     {}\n", n_alive > 0
                                                      ? fmt::format("for one of {} active workers; {} of {} runs "
                                                                    "have ended",
                                                                    n_alive, results.n_ended(), plan.size())
                                                      : retry);
  }
  if (found != workers.end() && found->is_alive()) {
    return text + fmt::format("running     for {:.0f} s on worker {}: {}\n",
                              running_time(folder, run.key, owner, server_time(folder)), owner,
                              (folder / "running" / (run.key + "." + owner)).string());
  }
  return text + fmt::format("lost        by worker {} ({}); {}\n", owner,
                            found == workers.end() ? "which has ended" : state_of(*found), retry);
}

}  // namespace heelstrike::client
