#include "client/studies/earlier_runs.hpp"

#include <algorithm>
#include <system_error>

#include "common/files/output_file.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

bool has_scenario(const fs::path& run, const std::string& yaml) {
  std::error_code ignored;
  return fs::exists(run / "scenario.yaml", ignored) && read_whole_file(run / "scenario.yaml") == yaml;
}

}  // namespace

bool is_done(const fs::path& run, const std::string& yaml) {
  return fs::exists(run / "summary.json") && incomplete_reason(run).empty() && has_scenario(run, yaml);
}

bool can_resume(const fs::path& run, const std::string& yaml) {
  if (incomplete_reason(run).empty() || !has_scenario(run, yaml)) return false;
  std::error_code none;
  fs::directory_iterator checkpoints(run / "checkpoints", none);
  return !none && std::any_of(begin(checkpoints), end(checkpoints),
                              [](const auto& entry) { return entry.path().extension() == ".ckpt"; });
}

}  // namespace heelstrike::client
