#include "client/sweeps/plan_sweep.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "client/sweeps/sweep_queue.hpp"
#include "client/sweeps/work_on_sweep.hpp"
#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"
#include "common/process/process.hpp"
#include "common/process/version.hpp"
#include "library/composition/embedded.hpp"
#include "library/registries/catalog.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Of a larger grid only the values are checked: a request takes about a millisecond.
constexpr std::size_t max_checked_points = 200;

constexpr const char* lock_name = ".plan.lock";      // of the process that plans; the others wait
constexpr const char* active_name = ".active.lock";  // shared by the processes that follow the workers

Descriptor open_lock(const fs::path& file) {
  Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.get() >= 0) return lock;
  throw file_error(file.string(), fmt::format("{}: expected a folder in which files can be written, found: {}",
                                              file.parent_path().string(), std::generic_category().message(errno)));
}

/// @returns false if another process has the lock and `operation` does not wait
bool lock(const Descriptor& file, int operation) {
  while (::flock(file.get(), operation) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

/// A folder of the user may have folders of these names, whose content is not to be removed.
void check_is_sweep(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / lock_name, ignored)) return;
  for (const char* name : {"results", "claims", "workers", "running", "comparison.csv"}) {
    if (!fs::exists(folder / name, ignored)) continue;
    throw file_error(folder.string(),
                     fmt::format("{}: expected a new folder or that of a sweep, found {} that is not of a "
                                 "sweep; choose another folder with -o",
                                 folder.string(), name));
  }
}

/// Indices of the points that are checked: the last variation changes fastest.
std::vector<std::size_t> checked_points(const std::vector<Variation>& variations, std::size_t n_points) {
  std::vector<std::size_t> checked;
  if (n_points <= max_checked_points) {
    for (std::size_t p = 0; p < n_points; ++p) checked.push_back(p);
    return checked;
  }
  std::size_t stride = 1;
  for (auto variation = variations.rbegin(); variation != variations.rend(); ++variation) {
    const std::size_t n = variation->values.size(), n_checked = std::min(n, max_checked_points);
    for (std::size_t i = 0; i < n_checked; ++i) {
      checked.push_back(stride * (n_checked == 1 ? 0 : i * (n - 1) / (n_checked - 1)));
    }
    stride *= n;
  }
  return checked;
}

/// Completed runs of earlier plans whose folder is intact, by key.
std::unordered_map<std::string, Json> completed_runs(const fs::path& folder) {
  std::unordered_map<std::string, Json> completed;
  for_each_event(folder, [&](const Json& event) {
    if (event.value("event", "") != "ended" || event.value("status", "") != "completed") return;
    const std::string digest = summary_digest(folder / event.value("folder", "none"));
    if (digest.empty() || digest != event.value("summary_digest", "")) return;
    completed.emplace(event.value("key", ""), event);
  });
  return completed;
}

/// The last unfinished folder of each run, by key; others are removed.
std::unordered_map<std::string, std::string> unfinished_runs(const fs::path& folder) {
  std::unordered_map<std::string, std::pair<fs::file_time_type, std::string>> newest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "running", ignored)) {
    const std::string name = entry.path().filename().string();
    const auto time = fs::last_write_time(entry.path(), ignored);
    auto& [last, kept] = newest[name.substr(0, name.find('.'))];
    if (!kept.empty() && last >= time) continue;
    last = time;
    kept = name;
  }
  std::unordered_map<std::string, std::string> unfinished;
  for (const auto& [key, kept] : newest) unfinished[key] = kept.second;
  for (const auto& entry : fs::directory_iterator(folder / "running", ignored)) {
    const std::string name = entry.path().filename().string();
    if (unfinished[name.substr(0, name.find('.'))] != name) fs::remove_all(entry.path(), ignored);
  }
  return unfinished;
}

/// The events with which the queue of a plan begins.
std::vector<std::string> first_events(const fs::path& folder, const SweepHeader& header,
                                      const std::vector<SweepPoint>& points) {
  const auto completed = completed_runs(folder);
  const auto unfinished = unfinished_runs(folder);
  std::unordered_map<std::string, std::string> owners;  // keys of the planned runs, by folder
  if (!completed.empty()) {
    for (const SweepPoint& point : points) owners[point.folder] = SweepPlan::key_of(header, point);
  }
  std::vector<std::string> lines;
  for (std::size_t p = 0; p < points.size() && !(completed.empty() && unfinished.empty()); ++p) {
    const std::string key = SweepPlan::key_of(header, points[p]);
    if (const auto found = completed.find(key); found != completed.end()) {
      Json event = found->second;
      event.erase("check");
      event["run"] = p + 1;
      event["label"] = points[p].label;
      event["parameters"] = Json::object();
      for (const auto& [name, value] : parameters_of(points[p])) event["parameters"][name] = value;
      // Another run of this plan may have the folder's name: its number, and a label that differs in other characters.
      const std::string name = event.value("folder", "");
      if (const auto owner = owners.find(name); owner != owners.end() && owner->second != key) {
        event["folder"] = name + "-" + key.substr(0, 6);
        fs::rename(folder / name, folder / event.value("folder", ""));
      }
      lines.push_back(event_line(std::move(event)));
    } else if (const auto begun = unfinished.find(key); begun != unfinished.end()) {
      lines.push_back(event_line({{"run", p + 1}, {"event", "stopped"}, {"running", begun->second}}));
    }
  }
  return lines;
}

bool is_same_plan(const fs::path& folder, const SweepHeader& header, const std::vector<SweepPoint>& points) {
  try {
    const SweepPlan plan(folder);
    if (plan.header().identity != header.identity || plan.header().files != header.files ||
        plan.header().version != header.version || plan.header().overrides.backend != header.overrides.backend ||
        plan.header().overrides.assignments != header.overrides.assignments || plan.size() != points.size()) {
      return false;
    }
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (plan.run(p + 1).point.assignments != points[p].assignments) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Descriptor plan_sweep(const fs::path& folder, const PlanRequest& request, const std::stop_token& stop) {
  std::vector<Variation> variations;
  for (const std::string& text : request.vary) variations.push_back(parse_variation(text));
  const std::vector<SweepPoint> points = sweep_points(variations);
  const BackendSchemas schemas = schemas_of(embedded_backends());
  SweepHeader header{.version = std::string(program_version),
                     .scenario = fs::absolute(request.scenario),
                     .identity = {},
                     .files = {},
                     .overrides = request.overrides};
  for (const std::size_t p : checked_points(variations, points.size())) {
    const RunRequest point = SweepPlan::request(header, points[p], schemas, stop);
    check_fmus(point, stop);
    header.files.merge(file_digests(point));
  }
  header.identity = sha256_hex(read_whole_file(header.scenario));
  check_is_sweep(folder);
  std::error_code failure;
  fs::create_directories(folder, failure);                    // open_lock() reports a failure
  const Descriptor planning = open_lock(folder / lock_name);  // first, by it a folder is known as that of a sweep
  make_queue_folders(folder);
  (void)lock(planning, LOCK_EX);
  Descriptor active = open_lock(folder / active_name);
  const bool is_followed = !lock(active, LOCK_EX | LOCK_NB);
  const auto workers = find_workers(folder);
  const auto n_alive = std::ranges::count_if(workers, [](const WorkerState& w) { return w.is_alive(); });
  if (is_followed || n_alive > 0) {
    if (!is_same_plan(folder, header, points)) {
      throw file_error(folder.string(),
                       fmt::format("{0}: expected a folder without an active sweep, found {1} workers of another plan; "
                                   "choose another folder with -o, or wait: heelstrike sweep status {0}",
                                   folder.string(), n_alive));
    }
    (void)lock(active, LOCK_SH);
    return active;
  }
  // Events name runs by their numbers in the plan: a process that is killed here leaves no plan, and all results, which
  // the next plan finds by their keys.
  SweepPlan::remove(folder);
  reset_queue(folder, first_events(folder, header, points));
  SweepPlan::write(folder, header, points);
  fs::remove(folder / "comparison.csv");  // of the former plan
  (void)lock(active, LOCK_SH);
  return active;
}

}  // namespace heelstrike::client
