#include "mbs_server/service/run_input.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/motion/motion_file.hpp"
#include "gait/motion_columns.hpp"
#include "mbs_server/analysis/catalog.hpp"
#include "scenario/catalog.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::mbs {
namespace {

/// Replaces names of meshes by their digests and reads tables.
void resolve_file(ContactBody& body, const std::vector<AssetContent>& assets) {
  const auto file = asset_of(body.surface);
  if (!file || !file->sha256.empty()) return;
  const auto asset = std::ranges::find(assets, file->name, &AssetContent::name);
  if (asset == assets.end()) return;
  const SurfaceKind& kind = kind_of(body.surface);
  if (kind.of_table != nullptr) {
    body.surface = kind.of_table(motion_columns(asset->content, asset->name, kind.table_headings), asset->name);
  } else {
    body.surface.sha256 = asset->sha256;
  }
}

void resolve_files(const BackendSchemas& backends, const std::vector<AssetContent>& assets, PairSpec& pair) {
  resolve_file(pair.main, assets);
  resolve_file(pair.partner, assets);
  const auto schema = backends.find(pair.backend);
  if (schema == backends.end()) return;
  for (const ParameterSchema& key : schema->second) {
    const auto given = pair.parameters.find(key.name);
    if (key.role != config::KeyRole::file || given == pair.parameters.end()) continue;
    auto& name = std::get<std::string>(given->second);
    const auto asset = std::ranges::find(assets, name, &AssetContent::name);
    if (asset != assets.end()) name = asset->sha256;
  }
}

}  // namespace

RunInput make_run_input(Scenario scenario, std::string_view yaml, std::vector<AssetContent> files,
                        const BackendSchemas& backends) {
  RunInput input;
  input.scenario = std::move(scenario);
  input.assets = std::move(files);
  std::string identity = sha256_hex(yaml);
  for (AssetContent& file : input.assets) {
    if (file.sha256.empty()) file.sha256 = sha256_hex(file.content);
    identity += '\n' + file.name + '\n' + file.sha256;
  }
  input.scenario_digest = sha256_hex(identity);
  for (PairModel& pair : input.scenario.pairs) resolve_files(backends, input.assets, pair.spec);
  return input;
}

RunInput make_run_input(const std::string& yaml, const std::string& file_name, std::vector<AssetContent> files,
                        const BackendSchemas& backends) {
  Scenario scenario = parse_scenario(yaml, file_name, scenario_catalog(backends));
  read_motion_columns(scenario, content_in(files));
  return make_run_input(std::move(scenario), yaml, std::move(files), backends);
}

}  // namespace heelstrike::mbs
