#include "client/subcommands/import_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/text/storage_header.hpp"
#include "gait/c3d_plates.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& file, const std::string& text) {
  OutputFile out(file);
  out.write(text);
  out.close();
}

void check_is_new(const fs::path& file, const std::string& kind) {
  if (!fs::exists(file)) return;
  throw input_error("output",
                    fmt::format("{}: expected a folder without a {} of this name, found one; remove it or name "
                                "another folder",
                                file.string(), kind));
}

void create_folder(const fs::path& folder, const fs::path& inner, std::span<const models::ImportedMesh> copies) {
  std::error_code failure;
  // The current folder has an empty path.
  if (const fs::path made = folder / inner; !made.empty()) fs::create_directories(made, failure);
  for (const auto& mesh : copies) {
    if (failure || mesh.from.empty()) continue;
    fs::copy_file(mesh.from, folder / mesh.to, fs::copy_options::overwrite_existing, failure);
  }
  if (failure) {
    throw file_error(folder.string(),
                     fmt::format("{}: expected a folder to write to, found: {}", folder.string(), failure.message()));
  }
}

void write_missed(const fs::path& folder, const std::vector<std::string>& omissions) {
  std::string missed;
  for (const std::string& line : omissions) missed += line + "\n";
  write_text(folder / "NOT_IMPORTED.txt", missed);
}

/// The scenario with a description for its page; formats of models have none.
std::string with_description(std::string scenario, const fs::path& model) {
  constexpr std::string_view version = "\nheelstrike: 1\n";
  const auto at = scenario.find(version);
  if (at == std::string::npos || scenario.find("\ndescription:") != std::string::npos) return scenario;
  const nlohmann::json description = "Imported from " + model.filename().string();
  // A name that is not UTF-8 must not prevent the import.
  const std::string quoted_text = description.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return scenario.insert(at + version.size(), fmt::format("description: {}\n", quoted_text));
}

/// @param target  a folder, or the path of the scenario in it
fs::path write_folder(const fs::path& model, const fs::path& target, const models::Import& import) {
  const bool named = target.extension() == ".yaml";
  const fs::path folder = named ? target.parent_path() : target;
  const fs::path scenario = named ? target : folder / (model.stem().string() + ".yaml");
  check_is_new(scenario, "scenario");
  create_folder(folder, import.meshes.empty() ? "" : "meshes", import.meshes);
  for (const auto& mesh : import.meshes) {
    if (mesh.from.empty()) write_text(folder / mesh.to, mesh.content);
  }
  write_missed(folder, import.omissions);
  // Last, because an existing scenario prevents a repeated import.
  write_text(scenario, with_description(import.scenario, model));
  return scenario;
}

/// @param what  key of the output in JSON: "scenario"
ExitCode print_import(const std::string& what, const nlohmann::json& written, const std::vector<std::string>& taken,
                      const std::vector<std::string>& omissions, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{what, written}, {"imported", taken}, {"not_imported", omissions}}.dump(2));
    return ExitCode::ok;
  }
  for (const auto& file : written.is_array() ? written : nlohmann::json{written}) {
    fmt::print("{}\n", file.get<std::string>());
  }
  fmt::print("\nimported:\n");
  for (const std::string& line : taken) fmt::print("  {}\n", line);
  fmt::print("\nskipped or approximated:\n");
  for (const std::string& line : omissions) fmt::print("  {}\n", line);
  return ExitCode::ok;
}

/// Channels that belong to no plate, as an OpenSim storage.
std::string analog_text(const C3dTrial& trial, const std::vector<std::size_t>& others) {
  const std::vector<double> times = trial.analog_times();
  std::string text = storage_header("analog", times.size(), 1 + others.size());
  for (const std::size_t i : others) text += "\t" + trial.analog[i].name;
  text += '\n';
  for (std::size_t k = 0; k < times.size(); ++k) {
    text += fmt::format("{}", times[k]);
    for (const std::size_t i : others) text += fmt::format("\t{}", trial.analog[i].values[k]);
    text += '\n';
  }
  return text;
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
  return '"' + text + '"';
}

std::string events_text(const std::vector<C3dEvent>& events) {
  std::string text = "time_s,context,label\n";
  for (const C3dEvent& event : events) {
    text += fmt::format("{},{},{}\n", event.time, quoted(event.context), quoted(event.label));
  }
  return text;
}

/// Name suffixes and contents of the files of a trial.
using TrialFiles = std::vector<std::pair<std::string, std::string>>;

TrialFiles trial_files(C3dTrial trial, const std::string& name, std::vector<std::string>& taken,
                       std::vector<std::string>& omissions) {
  const C3dPlates plates = c3d_plates(trial);
  omissions = trial.notes;
  omissions.insert(omissions.end(), plates.notes.begin(), plates.notes.end());
  TrialFiles files;
  if (!trial.markers.names.empty()) {
    trial.markers.file_name = name + ".trc";
    files.emplace_back(".trc", trc_text(trial.markers, trial.first_frame));
    taken.push_back(fmt::format("{} markers in {} frames at {} Hz, from {} s on", trial.markers.names.size(),
                                trial.markers.frames(), trial.markers.rate, trial.markers.times.front()));
  }
  if (!plates.plates.empty()) {
    files.emplace_back(".mot", plates_text(plates.plates, trial.analog_times(), name + ".mot"));
    taken.push_back(fmt::format("{} force plates at {} Hz", plates.plates.size(), trial.analog_rate));
  }
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < trial.analog.size(); ++i) {
    if (std::ranges::find(plates.channels, i) == plates.channels.end()) others.push_back(i);
  }
  if (!others.empty()) {
    files.emplace_back("_analog.sto", analog_text(trial, others));
    taken.push_back(
        fmt::format("{} other analog channels at {} Hz, in the units of the file", others.size(), trial.analog_rate));
  }
  if (!trial.events.empty()) {
    files.emplace_back("_events.csv", events_text(trial.events));
    for (const C3dEvent& event : trial.events) {
      taken.push_back(fmt::format("event at {} s: {}", event.time,
                                  event.context.empty() ? event.label : event.context + " " + event.label));
    }
  }
  return files;
}

}  // namespace

void require_output(const fs::path& folder) {
  if (!folder.empty()) return;
  throw input_error("output", "--output: expected the folder to write to, found none; write e.g. -o imported");
}

ExitCode write_import(const fs::path& model, const fs::path& folder, const models::Import& import, bool as_json) {
  const fs::path scenario = write_folder(model, folder, import);
  const ExitCode code = print_import("scenario", scenario.string(), import.imported, import.omissions, as_json);
  if (as_json) return code;
  const fs::path beside = scenario.parent_path();
  fmt::print("\nbeside the scenario: {}{}\n", (beside / "NOT_IMPORTED.txt").string(),
             import.meshes.empty() ? "" : ", " + (beside / "meshes").string());
  fmt::print("heelstrike validate {0}\nheelstrike run {0}\n", scenario.string());
  return code;
}

ExitCode write_trial(const fs::path& file, std::string_view bytes, const fs::path& folder, bool as_json) {
  const std::string name = file.stem().string();
  std::vector<std::string> taken, omissions, written;
  const TrialFiles files = trial_files(read_c3d(bytes, file.string()), name, taken, omissions);
  for (const auto& [end, content] : files) check_is_new(folder / (name + end), "file");
  create_folder(folder, "", {});
  for (const auto& [end, content] : files) {
    written.push_back((folder / (name + end)).string());
    write_text(written.back(), content);
  }
  write_missed(folder, omissions);
  return print_import("files", written, taken, omissions, as_json);
}

}  // namespace heelstrike::client
