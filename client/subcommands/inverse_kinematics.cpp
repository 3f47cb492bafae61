// heelstrike inverse-kinematics: coordinates of a model from a trial of markers, as a motion file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>

#include "client/subcommands/options.hpp"
#include "client/subcommands/shared_files.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/read_file.hpp"
#include "common/text/storage_header.hpp"
#include "common/text/table.hpp"
#include "gait/marker_file.hpp"
#include "importers/opensim/marker_set.hpp"
#include "library/composition/embedded.hpp"
#include "library/registries/catalog.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

constexpr double degrees = 180.0 / std::numbers::pi;

struct Options {
  fs::path scenario, trial, marker_set, tasks, coupling, motion;
  std::string coupled_by;
  std::vector<std::string> weights, locked;
  std::optional<double> begin, end;
  bool force = false;
  Overrides overrides;
};

/// Frames of the trial between --from and --to.
std::vector<std::size_t> chosen_frames(const Options& options, const MarkerTrial& trial) {
  constexpr double rounding = 1e-9;  // [s]
  std::vector<std::size_t> frames;
  for (std::size_t i = 0; i < trial.frames(); ++i) {
    if (options.begin && trial.times[i] < *options.begin - rounding) continue;
    if (options.end && trial.times[i] > *options.end + rounding) continue;
    frames.push_back(i);
  }
  if (frames.empty()) {
    throw input_error("from", fmt::format("--from, --to: expected times of the trial, {:.6g} to {:.6g} s, found none",
                                          trial.times.front(), trial.times.back()));
  }
  return frames;
}

struct Fit {
  InverseKinematicsTask task;
  std::vector<std::string> notes;
};

void add_markers(const Options& options, const MarkerTrial& trial, const std::vector<std::size_t>& frames, Fit& fit) {
  std::map<std::string, double> weights;
  bool only_weighted = false;
  if (!options.tasks.empty()) {
    osim::MarkerTasks tasks =
        osim::read_marker_tasks(read_file(options.tasks, "--tasks"), options.tasks.filename().string());
    weights = std::move(tasks.weights);
    only_weighted = true;
    fit.task.coordinates = std::move(tasks.coordinates);
    for (const std::string& task : tasks.unsupported) fit.notes.push_back("a task without effect: " + task);
  }
  for (const std::string& text : options.weights) {
    const auto [name, weight] = read_named_number("--weight", text);
    if (weight < 0.0) throw input_error("weight", fmt::format("--weight: expected a number >= 0, found '{}'", text));
    weights.insert_or_assign(name, weight);
  }
  const auto markers =
      osim::read_marker_set(read_file(options.marker_set, "--marker-set"), options.marker_set.filename().string());
  std::string unmeasured;
  for (const osim::Marker& marker : markers) {
    const auto weight = weights.find(marker.name);
    if (weight == weights.end() ? only_weighted : weight->second == 0.0) continue;
    if (std::ranges::find(trial.names, marker.name) == trial.names.end()) {
      unmeasured += (unmeasured.empty() ? "" : ", ") + marker.name;
      continue;
    }
    ModelMarker fitted{.name = marker.name,
                       .body = marker.body,
                       .p_BM = marker.p_BM,
                       .weight = weight == weights.end() ? 1.0 : weight->second};
    for (const std::size_t i : frames) fitted.measured.push_back(trial.marker(marker.name)[i]);
    fit.task.markers.push_back(std::move(fitted));
  }
  if (!unmeasured.empty()) fit.notes.push_back("markers of the model that the trial does not have: " + unmeasured);
  for (const auto& [name, weight] : weights) {
    if (weight == 0.0 || std::ranges::find(markers, name, &osim::Marker::name) != markers.end()) continue;
    fit.notes.push_back(fmt::format("the weight of '{}', which is no marker of {}", name, options.marker_set.string()));
  }
  if (fit.task.markers.empty()) {
    throw input_error("markers", fmt::format("expected markers of {} in {}, found none of the same name with a weight",
                                             options.marker_set.string(), options.trial.string()));
  }
}

Fit make_task(const Options& options) {
  Fit fit;
  const MarkerTrial trial = read_trc(read_file(options.trial, "--trial"), options.trial.filename().string());
  fit.notes = trial.notes;
  const std::vector<std::size_t> frames = chosen_frames(options, trial);
  for (const std::size_t i : frames) fit.task.times.push_back(trial.times[i]);
  add_markers(options, trial, frames, fit);
  fit.task.locked = options.locked;
  if (options.coupling.empty()) return fit;
  for (auto& [name, f] :
       osim::read_coordinate_functions(read_file(options.coupling, "--couple"), options.coupling.filename().string())) {
    fit.task.coupled.push_back({.coordinate = name, .by = options.coupled_by, .f = std::move(f)});
  }
  return fit;
}

/// Coordinates in degrees and metres, as OpenSim's tools write them.
std::string motion_text(const InverseKinematicsTask& task, const InverseKinematicsResult& result) {
  std::string text = storage_header("Coordinates", result.frames.size(), result.coordinates.size() + 1, true);
  for (const std::string& name : result.coordinates) text += "\t" + name;
  text += '\n';
  for (std::size_t i = 0; i < result.frames.size(); ++i) {
    text += fmt::format("{}", task.times[i]);
    for (std::size_t k = 0; k < result.coordinates.size(); ++k) {
      text += fmt::format("\t{}", (result.rotates[k] ? degrees : 1.0) * result.frames[i].values[k]);
    }
    text += '\n';
  }
  return text;
}

struct Errors {
  double sum_of_squares = 0.0;  ///< [m^2] without weights
  double largest = 0.0;         ///< [m]
  std::size_t n = 0;
  std::size_t worst = 0;  ///< marker with the largest error
  void add(double error, std::size_t marker) {
    if (std::isnan(error)) return;
    ++n;
    sum_of_squares += error * error;
    if (error <= largest) return;
    largest = error;
    worst = marker;
  }
  [[nodiscard]] double rms() const { return n == 0 ? 0.0 : std::sqrt(sum_of_squares / static_cast<double>(n)); }
};

/// Errors as OpenSim's tool writes them, and of every marker [m]; NaN = not seen.
std::string errors_text(const InverseKinematicsTask& task, const InverseKinematicsResult& result) {
  std::string text = storage_header("Marker errors", result.frames.size(), task.markers.size() + 5, false);
  text += "\ttotal_squared_error\tmarker_error_RMS\tmarker_error_max\tweighted_squared_error";
  for (const ModelMarker& marker : task.markers) text += "\t" + marker.name;
  text += '\n';
  for (std::size_t i = 0; i < result.frames.size(); ++i) {
    const InverseKinematicsFrame& frame = result.frames[i];
    Errors errors;
    for (std::size_t m = 0; m < frame.errors.size(); ++m) errors.add(frame.errors[m], m);
    text += fmt::format("{}\t{}\t{}\t{}\t{}", task.times[i], errors.sum_of_squares, errors.rms(), errors.largest,
                        frame.sum_of_squares);
    for (const double error : frame.errors) text += fmt::format("\t{}", error);
    text += '\n';
  }
  return text;
}

/// First and last time of successive frames.
struct TimeRange {
  double from = 0.0, to = 0.0;  ///< [s]
};

std::vector<TimeRange> ranges_of(const std::vector<std::size_t>& frames, const std::vector<double>& times) {
  std::vector<TimeRange> ranges;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i == 0 || frames[i] != frames[i - 1] + 1) ranges.push_back({.from = times[frames[i]], .to = 0.0});
    ranges.back().to = times[frames[i]];
  }
  return ranges;
}

nlohmann::ordered_json undetermined_json(const InverseKinematicsTask& task, const InverseKinematicsResult& result) {
  auto json = nlohmann::ordered_json::array();
  for (const UndeterminedCoordinate& found : result.undetermined) {
    auto ranges = nlohmann::ordered_json::array();
    for (const TimeRange& range : ranges_of(found.frames, task.times)) ranges.push_back({range.from, range.to});
    json.push_back({{"coordinate", found.name}, {"frames", found.frames.size()}, {"ranges_s", ranges}});
  }
  return json;
}

std::string ranges_text(const std::vector<TimeRange>& ranges) {
  constexpr std::size_t n_listed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), n_listed); ++i) {
    text += fmt::format("{}{:.6g} to {:.6g} s", i == 0 ? "" : ", ", ranges[i].from, ranges[i].to);
  }
  if (ranges.size() > n_listed) text += fmt::format(" and {} more ranges (--json lists all)", ranges.size() - n_listed);
  return text;
}

/// One warning for the coordinates that are not determined in the same frames.
void warn_of_undetermined(const InverseKinematicsTask& task, const InverseKinematicsResult& result) {
  std::map<std::vector<std::size_t>, std::vector<std::string>> by_frames;
  for (const UndeterminedCoordinate& found : result.undetermined) by_frames[found.frames].push_back(found.name);
  for (const auto& [frames, names] : by_frames) {
    if (frames.size() == result.frames.size()) {
      fmt::print(stderr,
                 "heelstrike: warning: no marker determines {}, which stay near their initial values; lock or couple "
                 "them, or add markers\n",
                 fmt::join(names, ", "));
      continue;
    }
    fmt::print(stderr,
               "heelstrike: warning: in {} of {} frames the markers that are seen do not determine {}: {}; the values "
               "are interpolated linearly between the frames before and after, and constant before the first and "
               "after the last one; fill the gaps of the markers, or choose other times\n",
               frames.size(), result.frames.size(), fmt::join(names, ", "), ranges_text(ranges_of(frames, task.times)));
  }
}

void print_summary(const Fit& fit, const InverseKinematicsResult& result, const fs::path& motion,
                   const fs::path& errors, bool as_json) {
  std::vector<Errors> by_marker(fit.task.markers.size());
  Errors all;
  for (const InverseKinematicsFrame& frame : result.frames) {
    for (std::size_t m = 0; m < frame.errors.size(); ++m) {
      by_marker[m].add(frame.errors[m], m);
      all.add(frame.errors[m], m);
    }
  }
  if (as_json) {
    nlohmann::ordered_json json = {
        {"frames", result.frames.size()},
        {"marker_error_rms_m", all.rms()},
        {"marker_error_max_m", all.largest},
        {"undetermined", undetermined_json(fit.task, result)},
        {"motion", motion.string()},
        {"errors", errors.string()},
        {"not_converged", std::ranges::count(result.frames, false, &InverseKinematicsFrame::converged)}};
    for (std::size_t m = 0; m < by_marker.size(); ++m) {
      json["markers"][fit.task.markers[m].name] = {{"rms_m", by_marker[m].rms()}, {"max_m", by_marker[m].largest}};
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::vector<std::size_t> order(by_marker.size());
  for (std::size_t m = 0; m < order.size(); ++m) order[m] = m;
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t m) { return by_marker[m].rms(); });
  Table table;
  table.header = {"marker", "rms mm", "largest mm", "weight"};
  for (const std::size_t m : order) {
    table.rows.push_back({fit.task.markers[m].name, number_text(1e3 * by_marker[m].rms(), 3),
                          number_text(1e3 * by_marker[m].largest, 3), number_text(fit.task.markers[m].weight, 3)});
  }
  fmt::print("{}\n", table.fitted(screen_width(Stream::out)));
  int evaluations = 0;
  for (const InverseKinematicsFrame& frame : result.frames) evaluations += frame.n_evaluations;
  fmt::print("{} frames, {} markers: rms {:.3g} mm, largest {:.3g} mm ({}), {:.3g} evaluations a frame\n",
             result.frames.size(), fit.task.markers.size(), 1e3 * all.rms(), 1e3 * all.largest,
             fit.task.markers[all.worst].name,
             evaluations / static_cast<double>(std::max<std::size_t>(result.frames.size(), 1)));
  fmt::print("motion      {}\nerrors      {}\n", motion.string(), errors.string());
}

/// One warning for the frames with exhausted evaluations, one for those with unreachable poses.
void warn_of_unconverged(const InverseKinematicsTask& task, const InverseKinematicsResult& result) {
  std::vector<std::size_t> exhausted, unreachable;
  for (std::size_t i = 0; i < result.frames.size(); ++i) {
    if (result.frames[i].converged) continue;
    (result.frames[i].unreachable.empty() ? exhausted : unreachable).push_back(i);
  }
  if (!exhausted.empty()) {
    fmt::print(
        stderr,
        "heelstrike: warning: {} frames did not converge, the first at {:.6g} s: coordinates that markers hardly "
        "determine; lock them, or add markers\n",
        exhausted.size(), task.times[exhausted.front()]);
  }
  if (unreachable.empty()) return;
  fmt::print(stderr,
             "heelstrike: warning: {} frames did not converge, the first at {:.6g} s, because poses that fit better "
             "cannot be reached: {}; lock their joints (import.lock_joints), or choose other coordinates to --lock\n",
             unreachable.size(), task.times[unreachable.front()],
             printable(result.frames[unreachable.front()].unreachable));
}

void print_warnings(const Fit& fit, const InverseKinematicsResult& result) {
  if (!result.absent.empty()) {
    fmt::print(stderr, "heelstrike: note: tasks and couplings of {}, which the model does not have or has locked\n",
               printable(fmt::format("{}", fmt::join(result.absent, ", "))));
  }
  warn_of_undetermined(fit.task, result);
  warn_of_unconverged(fit.task, result);
}

ExitCode inverse_kinematics(const Options& options, bool as_json, const std::stop_token& stop) {
  const RunRequest request = load_request(options.scenario, options.overrides, schemas_of(known_backends({})), stop);
  const Fit fit = make_task(options);
  fs::path motion = options.motion;
  if (motion.empty()) motion = options.trial.filename().replace_extension("").string() + "_ik.mot";
  fs::path errors = motion;
  errors.replace_filename(motion.stem().string() + "_marker_errors.sto");
  check_new_files({motion, errors}, options.force);
  for (const std::string& note : fit.notes) fmt::print(stderr, "heelstrike: note: {}\n", printable(note));
  InverseKinematicsResult result;
  {
    ProgressDisplay display("inverse kinematics", as_json);
    const double begin = fit.task.times.front();
    const double end = fit.task.times.back();
    result = solve_inverse_kinematics(
        request, fit.task,
        [&](std::size_t done) { display.show({.time = fit.task.times[done - 1] - begin, .end_time = end - begin}); },
        stop);
  }
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped on request; no file was written");
  print_warnings(fit, result);
  write_new_files({{motion, motion_text(fit.task, result)}, {errors, errors_text(fit.task, result)}}, options.force);
  print_summary(fit, result, motion, errors, as_json);
  const bool all_converged = std::ranges::all_of(result.frames, &InverseKinematicsFrame::converged);
  return all_converged ? ExitCode::ok : ExitCode::incomplete;
}

Action add_inverse_kinematics(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<Options>();
  add_scenario_argument(command, options->scenario);
  command.add_option("--trial", options->trial, "Measured markers, a .trc file in the axes of the model")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--marker-set", options->marker_set,
                  "Markers on the bodies of the model: the .osim file, or an .xml file with a MarkerSet")
      ->required()
      ->type_name("FILE");
  command
      .add_option(
          "--tasks", options->tasks,
          "Weights of the markers: an .xml file with an IKTaskSet, e.g. the settings of OpenSim's tool; markers "
          "without a task have no weight")
      ->type_name("FILE");
  command.add_option("--weight", options->weights, "Weight of a marker, default 1; 0 = ignored")
      ->type_name("MARKER=NUMBER");
  command.add_option("--lock", options->locked, "Coordinates that keep their initial values")->type_name("COORDINATE");
  CLI::Option* couple =
      command
          .add_option("--couple", options->coupling,
                      "Coordinates that follow another one: an .xml file with a FunctionSet by their names")
          ->type_name("FILE");
  CLI::Option* by = command.add_option("--couple-by", options->coupled_by, "The coordinate that they follow")
                        ->type_name("COORDINATE");
  couple->needs(by);
  by->needs(couple);
  command.add_option("--from", options->begin, "First time, default that of the trial")->type_name("SECONDS");
  command.add_option("--to", options->end, "Last time, default that of the trial")->type_name("SECONDS");
  command.add_option("-o,--output", options->motion, "Motion file, default TRIAL_ik.mot in this folder")
      ->type_name("FILE");
  command.add_flag("--force", options->force, "Replace existing files");
  add_set_option(command, options->overrides);
  command.add_flag("--json", as_json, "Print the errors as JSON");
  return [options](bool json, const std::stop_token& stop) { return inverse_kinematics(*options, json, stop); };
}

}  // namespace

Subcommand inverse_kinematics_command() {
  return {.name = "inverse-kinematics",
          .summary = "Coordinates of a model from a trial of markers, as a motion file",
          .examples =
              "  heelstrike inverse-kinematics model.yaml --trial walk.trc \\\n"
              "    --marker-set model.osim --tasks ik_settings.xml -o walk.mot",
          .add = add_inverse_kinematics};
}

}  // namespace heelstrike::client
