#include "client/sweeps/sweep_plan.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* plan_name = "plan.jsonl";

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

[[noreturn]] void fail_changed(const std::string& file) {
  throw input_error("scenario",
                    fmt::format("{}: expected the file as it was when the sweep was planned, found a changed "
                                "one; repeat the command heelstrike sweep",
                                file));
}

}  // namespace

void SweepPlan::write(const fs::path& folder, const SweepHeader& header, const std::vector<SweepPoint>& points) {
  write_whole_file(folder / plan_name, [&](OutputFile& file) {
    file.write(text_of({{"heelstrike_sweep", 1},
                        {"version", header.version},
                        {"scenario", header.scenario.string()},
                        {"identity", header.identity},
                        {"files", header.files},
                        {"backend", header.overrides.backend},
                        {"set", header.overrides.assignments},
                        {"runs", points.size()}}));
    std::string lines;
    for (std::size_t p = 0; p < points.size(); ++p) {
      lines += text_of({{"run", p + 1},
                        {"key", key_of(header, points[p])},
                        {"label", points[p].label},
                        {"set", points[p].assignments}});
      if (lines.size() < 1'000'000 && p + 1 < points.size()) continue;
      file.write(lines);
      lines.clear();
    }
  });
}

void SweepPlan::remove(const fs::path& folder) {
  fs::remove(folder / plan_name);
}

std::string SweepPlan::key_of(const SweepHeader& header, const SweepPoint& point) {
  std::string inputs = header.version + '\n' + header.identity + '\n' + header.overrides.backend;
  for (const auto& [name, digest] : header.files) inputs += '\n' + name + '\n' + digest;
  for (const auto* assignments : {&header.overrides.assignments, &point.assignments}) {
    for (const std::string& assignment : *assignments) inputs += '\n' + assignment;
  }
  return sha256_hex(inputs).substr(0, 16);
}

SweepPlan::SweepPlan(const fs::path& folder) : path_(folder / plan_name), file_(path_, std::ios::binary) {
  std::string line;
  if (!file_ || !std::getline(file_, line)) fail("none");
  std::size_t n_runs = 0;
  try {
    const Json json = Json::parse(line);
    if (json.at("heelstrike_sweep") != 1) fail("the plan of another version of the program");
    header_.version = json.at("version");
    header_.scenario = json.at("scenario").get<std::string>();
    header_.identity = json.at("identity");
    header_.files = json.at("files").get<std::map<std::string, std::string>>();
    header_.overrides.backend = json.at("backend");
    header_.overrides.assignments = json.at("set").get<std::vector<std::string>>();
    n_runs = json.at("runs");
  } catch (const Json::exception& error) {
    fail(error.what());
  }
  for (std::uint64_t at = line.size() + 1; std::getline(file_, line) && !file_.eof(); at += line.size() + 1) {
    lines_.push_back(at);
  }
  if (lines_.size() != n_runs) fail(fmt::format("{} of {} lines", lines_.size(), n_runs));
}

SweepRun SweepPlan::run(std::size_t number) const {
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(lines_.at(number - 1)));
  std::string line;
  std::getline(file_, line);
  try {
    const Json json = Json::parse(line);
    SweepRun run{.number = json.at("run"), .key = json.at("key"), .point = {}};
    run.point.label = json.at("label");
    run.point.folder = sweep_folder(number, run.point.label);
    run.point.assignments = json.at("set").get<std::vector<std::string>>();
    if (run.number == number) return run;
    fail(fmt::format("run {} in line {}", run.number, number + 1));
  } catch (const Json::exception& error) {
    fail(fmt::format("in line {}: {}", number + 1, error.what()));
  }
}

RunRequest SweepPlan::request(const SweepHeader& header, const SweepPoint& point, const BackendSchemas& schemas,
                              const std::stop_token& stop) {
  Overrides overrides = header.overrides;
  overrides.variations = point.assignments;
  return load_request(header.scenario, overrides, schemas, stop);
}

void SweepPlan::fail(const std::string& found) const {
  throw file_error(path_.string(),
                   fmt::format("{}: expected the plan of a sweep, found {}; repeat the command heelstrike sweep, which "
                               "keeps complete runs",
                               path_.string(), found));
}

void check_planned_scenario(const SweepHeader& header) {
  if (sha256_hex(read_whole_file(header.scenario)) != header.identity) fail_changed(header.scenario.string());
}

void check_planned_files(const SweepHeader& header, const RunRequest& request) {
  for (const auto& [name, digest] : file_digests(request)) {
    // A file that only an unchecked combination names is not in the plan.
    if (const auto planned = header.files.find(name); planned != header.files.end() && planned->second != digest)
      fail_changed(name);
  }
}

}  // namespace heelstrike::client
