#include "client/studies/trial_journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const CalibrationTrial& t) {
  return {{"youngs_modulus_Pa", t.youngs_modulus},
          {"clamp_height_m", t.clamp_height ? Json(*t.clamp_height) : Json()},
          {"force_N", t.force},
          {"area_m2", t.area},
          {"peak_pressure_Pa", t.peak_pressure},
          {"stiffness_N_per_m", t.stiffness},
          {"seconds", t.seconds}};
}

CalibrationTrial from_json(const Json& json) {
  const Json& clamp = json.at("clamp_height_m");
  return {.youngs_modulus = json.at("youngs_modulus_Pa"),
          .clamp_height = clamp.is_null() ? std::nullopt : std::optional(clamp.get<double>()),
          .force = json.at("force_N"),
          .area = json.at("area_m2"),
          .peak_pressure = json.at("peak_pressure_Pa"),
          .stiffness = json.at("stiffness_N_per_m"),
          .seconds = json.at("seconds")};
}

}  // namespace

TrialJournal::TrialJournal(const std::filesystem::path& file, const std::string& identity) {
  const std::string begin = Json{{"calibration", identity}}.dump() + "\n";
  if (!std::filesystem::exists(file)) {
    file_ = std::make_unique<OutputFile>(file);
    file_->write(begin);
    return;
  }
  const std::string text = read_whole_file(file);
  if (!text.starts_with(begin)) {
    throw input_error("journal", fmt::format("{}: expected trials of this scenario, pair, depth and direction, found "
                                             "others or another file; choose another file with --journal",
                                             file.string()));
  }
  // An interrupted write leaves an incomplete last line, which is dropped.
  const std::string whole = text.substr(0, text.rfind('\n') + 1);
  std::istringstream lines(whole.substr(begin.size()));
  try {
    for (std::string line; std::getline(lines, line);) trials_.push_back(from_json(Json::parse(line)));
  } catch (const Json::exception& e) {
    throw file_error(file.string(), fmt::format("{}: line {} is not a trial: {}; remove it", file.string(),
                                                trials_.size() + 2, e.what()));
  }
  file_ = std::make_unique<OutputFile>(file, whole.size());
}

std::optional<CalibrationTrial> TrialJournal::find(double youngs_modulus, std::optional<double> clamp_height) const {
  // Exact comparison: a repeated calibration generates the same values to the bit.
  const auto found = std::ranges::find_if(trials_, [&](const CalibrationTrial& t) {
    return t.youngs_modulus == youngs_modulus && t.clamp_height == clamp_height;
  });
  return found == trials_.end() ? std::nullopt : std::optional(*found);
}

void TrialJournal::add(const CalibrationTrial& trial) {
  trials_.push_back(trial);
  file_->write(to_json(trial).dump() + "\n");
}

}  // namespace heelstrike::client
