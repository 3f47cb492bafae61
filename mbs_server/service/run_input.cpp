#include "mbs_server/service/run_input.hpp"

#include <utility>

#include "common/config/catalog.hpp"
#include "common/config/digest.hpp"
#include "common/surfaces/surface_kind.hpp"
#include "gait/motion_columns.hpp"
#include "mbs_server/analysis/catalog.hpp"

namespace heelstrike::mbs {
namespace {

void name_by_digest(ContactBody& body, const std::vector<AssetContent>& assets) {
  const auto file = asset_of(body.surface);
  if (!file || !file->sha256.empty()) return;
  for (const AssetContent& asset : assets) {
    if (asset.name == file->name) body.surface.sha256 = asset.sha256;
  }
}

}  // namespace

RunInput make_run_input(const std::string& yaml, const std::string& file_name, std::vector<AssetContent> files,
                        const BackendSchemas& backends) {
  RunInput input;
  input.scenario = parse_scenario(yaml, file_name, scenario_catalog(backends));
  std::string identity = sha256_hex(yaml);
  for (AssetContent& file : files) {
    file.sha256 = sha256_hex(file.content);
    identity += '\n' + file.name + '\n' + file.sha256;
  }
  input.assets = std::move(files);
  read_motion_columns(input.scenario, content_in(input.assets));
  input.scenario_digest = sha256_hex(identity);
  for (PairModel& pair : input.scenario.pairs) {
    name_by_digest(pair.spec.main, input.assets);
    name_by_digest(pair.spec.partner, input.assets);
  }
  return input;
}

}  // namespace heelstrike::mbs
