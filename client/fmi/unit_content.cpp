#include "client/fmi/unit_content.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "client/runs/read_file.hpp"
#include "common/config/version.hpp"
#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

constexpr const char* index_file = "unit.json";
constexpr const char* scenario_file = "scenario.yaml";

fs::path place(const fs::path& resources, std::size_t file) {
  return resources / fmt::format("file_{}", file);
}

}  // namespace

void write_content(const UnitContent& content, const fs::path& resources) {
  nlohmann::ordered_json index = {{"program_version", program_version},
                                  {"token", content.token},
                                  {"scenario", content.file_name},
                                  {"pair", content.pair},
                                  {"model_exchange", content.model_exchange},
                                  {"files", nlohmann::ordered_json::array()},
                                  {"variables", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < content.files.size(); ++i) {
    index["files"].push_back(content.files[i].name);
    write_whole_file(place(resources, i), content.files[i].content);
  }
  // What it may be stands in the description, and the scenario's own tables check it.
  for (const UnitVariable& variable : content.variables) {
    index["variables"].push_back({{"causality", static_cast<int>(variable.causality)},
                                  {"name", variable.name},
                                  {"unit", variable.unit},
                                  {"meaning", variable.meaning},
                                  {"start", variable.start},
                                  {"tunable", variable.tunable}});
  }
  write_whole_file(resources / scenario_file, content.yaml);
  write_whole_file(resources / index_file, index.dump(1));
}

UnitContent read_content(const fs::path& resources) {
  const std::string what = "resources of the unit";
  UnitContent content;
  content.yaml = read_file(resources / scenario_file, what);
  content.cache = resources / "cache";
  try {
    const auto index = nlohmann::json::parse(read_file(resources / index_file, what));
    if (index.at("program_version") != program_version) {
      throw Error(ErrorCode::version_mismatch,
                  fmt::format("{}: made by heelstrike {}, the binary of the unit is {}; make the unit anew", what,
                              index.at("program_version").get<std::string>(), program_version));
    }
    content.token = index.at("token");
    content.file_name = index.at("scenario");
    content.pair = index.at("pair");
    content.model_exchange = index.at("model_exchange");
    std::size_t n = 0;
    for (const auto& name : index.at("files")) {
      content.files.push_back({.sha256 = {}, .name = name, .content = read_file(place(resources, n++), what)});
    }
    for (const auto& entry : index.at("variables")) {
      content.variables.push_back({.reference = static_cast<std::uint32_t>(content.variables.size()),
                                   .causality = static_cast<Causality>(entry.at("causality").get<int>()),
                                   .name = entry.at("name"),
                                   .unit = entry.at("unit"),
                                   .meaning = entry.at("meaning"),
                                   .start = entry.at("start"),
                                   .tunable = entry.at("tunable")});
    }
  } catch (const nlohmann::json::exception& defect) {
    throw file_error((resources / index_file).string(),
                     fmt::format("it is damaged: {}; make the unit anew", defect.what()));
  }
  return content;
}

}  // namespace heelstrike::client
