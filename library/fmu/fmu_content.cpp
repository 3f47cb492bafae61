#include "library/fmu/fmu_content.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"
#include "common/files/read_file.hpp"
#include "common/process/version.hpp"

namespace heelstrike::fmu {
namespace {

namespace fs = std::filesystem;

constexpr const char* index_file = "unit.json";
constexpr const char* scenario_file = "scenario.yaml";

fs::path place(const fs::path& resources, std::size_t file) {
  return resources / fmt::format("file_{}", file);
}

/// Digest of the index, which contains digests of the files, and therefore of all content of the FMU.
std::string token_of(nlohmann::ordered_json index) {
  index.erase("token");
  index.erase("program_version");  // another program version makes the same FMU of the same scenario
  return "{" + sha256_hex(index.dump()).substr(0, 32) + "}";
}

/// @throws Error{file} for content that differs from the index
std::string read_known(const fs::path& file, const std::string& expected, const std::string& what) {
  std::string content = read_file(file, what);
  const std::string found = sha256_hex(content);
  if (found == expected) return content;
  throw file_error(file.string(),
                   fmt::format("{}: it differs from the exported FMU: expected content with sha256 {}, found {}; "
                               "unpack the FMU again, or export one of the intended scenario",
                               file.string(), expected, found));
}

}  // namespace

void write_content(FmuContent& content, const fs::path& resources) {
  nlohmann::ordered_json index = {{"program_version", program_version},
                                  {"scenario", {{"name", content.file_name}, {"sha256", sha256_hex(content.yaml)}}},
                                  {"pair", content.pair},
                                  {"model_exchange", content.model_exchange},
                                  {"has_contacts", content.has_contacts},
                                  {"files", nlohmann::ordered_json::array()},
                                  {"variables", nlohmann::ordered_json::array()}};
  for (std::size_t i = 0; i < content.files.size(); ++i) {
    index["files"].push_back({{"name", content.files[i].name}, {"sha256", sha256_hex(content.files[i].content)}});
    write_whole_file(place(resources, i), content.files[i].content);
  }
  for (const FmuVariable& variable : content.variables) {
    index["variables"].push_back({{"causality", static_cast<int>(variable.causality)},
                                  {"name", variable.name},
                                  {"unit", variable.unit},
                                  {"meaning", variable.meaning},
                                  {"start", variable.start},
                                  {"tunable", variable.tunable}});
    // JSON has no infinity.
    if (std::isfinite(variable.min)) index["variables"].back()["min"] = variable.min;
    if (std::isfinite(variable.max)) index["variables"].back()["max"] = variable.max;
  }
  index["token"] = content.token = token_of(index);
  write_whole_file(resources / scenario_file, content.yaml);
  write_whole_file(resources / index_file, index.dump(1));
}

FmuContent read_content(const fs::path& resources) {
  const std::string what = "resources of the FMU";
  FmuContent content;
  content.cache = resources / "cache";
  try {
    const auto index = nlohmann::ordered_json::parse(read_file(resources / index_file, what));
    if (index.at("program_version") != program_version) {
      throw Error(ErrorCode::version_mismatch,
                  fmt::format("{}: made by heelstrike {}, the binary of the FMU is {}; export the FMU again", what,
                              index.at("program_version").get<std::string>(), program_version));
    }
    content.token = index.at("token");
    if (token_of(index) != content.token) {
      throw file_error((resources / index_file).string(),
                       fmt::format("{}: its table of variables and files differs from that of the exported FMU; "
                                   "unpack the FMU again",
                                   (resources / index_file).string()));
    }
    const auto& scenario = index.at("scenario");
    content.file_name = scenario.at("name");
    content.yaml = read_known(resources / scenario_file, scenario.at("sha256"), what);
    content.pair = index.at("pair");
    content.model_exchange = index.at("model_exchange");
    content.has_contacts = index.at("has_contacts");
    std::size_t n = 0;
    for (const auto& entry : index.at("files")) {
      content.files.push_back({.sha256 = {},
                               .name = entry.at("name"),
                               .content = read_known(place(resources, n++), entry.at("sha256"), what)});
    }
    for (const auto& entry : index.at("variables")) {
      content.variables.push_back({.reference = static_cast<std::uint32_t>(content.variables.size()),
                                   .causality = static_cast<Causality>(entry.at("causality").get<int>()),
                                   .name = entry.at("name"),
                                   .unit = entry.at("unit"),
                                   .meaning = entry.at("meaning"),
                                   .start = entry.at("start"),
                                   .tunable = entry.at("tunable"),
                                   .min = entry.value("min", -std::numeric_limits<double>::infinity()),
                                   .max = entry.value("max", std::numeric_limits<double>::infinity())});
    }
  } catch (const nlohmann::json::exception& defect) {
    throw file_error((resources / index_file).string(), fmt::format("{}: it is damaged: {}; export the FMU again",
                                                                    (resources / index_file).string(), defect.what()));
  }
  return content;
}

}  // namespace heelstrike::fmu
