#include "mbs_server/service/run_input.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "common/config/digest.hpp"
#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"

namespace heelstrike::mbs {
namespace {

void name_by_digest(ContactBody& body, const std::vector<AssetContent>& assets) {
  auto* mesh = std::get_if<MeshSurface>(&body.surface);
  if (mesh == nullptr || !mesh->sha256.empty()) return;
  for (const AssetContent& asset : assets) {
    if (asset.name == mesh->asset_name) mesh->sha256 = asset.sha256;
  }
}

/// Reads the motion file of a prescribed function and checks that it covers the run.
void read_motion(FunctionSpec& spec, const std::vector<AssetContent>& assets, double end_time) {
  if (spec.file.empty()) return;
  const auto asset = std::ranges::find(assets, spec.file, &AssetContent::name);
  if (asset == assets.end()) {
    throw input_error("file", fmt::format("{}: expected the file '{}' with the scenario, found nothing; send it along",
                                          spec.where, spec.file));
  }
  try {
    spec.function = make_scaled(make_spline(motion_column(asset->content, spec.file, spec.time_column),
                                            motion_column(asset->content, spec.file, spec.column), spec.degree),
                                spec.scale, 0.0);
  } catch (const Error& e) {
    throw input_error("file", fmt::format("{}: {}", spec.where, e.what()));
  }
  if (spec.function->first_time() > 0.0 || spec.function->last_time() < end_time) {
    throw input_error("file",
                      fmt::format("{}: expected times that cover the run, 0 to {} s, found {} to {} s; add rows "
                                  "or change analysis.end_time",
                                  spec.where, end_time, spec.function->first_time(), spec.function->last_time()));
  }
}

}  // namespace

RunInput make_run_input(const std::string& yaml, const std::string& file_name, std::vector<ScenarioFile> files,
                        const BackendSchemas& backends) {
  RunInput input;
  input.scenario = parse_scenario(yaml, file_name, backends);
  std::string identity = sha256_hex(yaml);
  for (ScenarioFile& file : files) {
    const std::string digest = sha256_hex(file.content);
    identity += '\n' + file.name + '\n' + digest;
    input.assets.push_back({digest, std::move(file.name), std::move(file.content)});
  }
  for (DriverSpec& driver : input.scenario.drivers) {
    for (auto& [key, function] : driver.functions)
      read_motion(function, input.assets, input.scenario.analysis.end_time);
  }
  input.scenario_digest = sha256_hex(identity);
  for (PairModel& pair : input.scenario.pairs) {
    name_by_digest(pair.spec.main, input.assets);
    name_by_digest(pair.spec.partner, input.assets);
  }
  return input;
}

}  // namespace heelstrike::mbs
