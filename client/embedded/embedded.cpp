#include "client/embedded/embedded.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"
#include "fem_server/backends/backend.hpp"
#include "fem_server/sessions/cache_directory.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/run_input.hpp"

namespace heelstrike::client {
namespace {

mbs::RunInput run_input(const RunRequest& request, const BackendSchemas& schemas) {
  std::vector<mbs::ScenarioFile> files;
  files.reserve(request.files.size());
  for (const NamedFile& file : request.files) files.push_back({file.name, file.content});
  return mbs::make_run_input(request.yaml, request.file_name, std::move(files), schemas);
}

class EmbeddedRunner : public Runner {
 public:
  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) override {
    mbs::RunInput input = run_input(request, schemas_of(embedded_backends()));
    input.run_id = "in-process";
    return mbs::run_scenario(input, embedded_contact(), sink, std::move(stop));
  }
};

}  // namespace

std::vector<BackendInfo> embedded_backends() {
  std::vector<BackendInfo> backends;
  for (const fem::BackendEntry& entry : fem::backend_registry()) {
    backends.push_back({entry.name, entry.summary, entry.reference, entry.parameters, entry.surface_pairs});
  }
  return backends;
}

std::unique_ptr<Runner> make_embedded_runner() {
  return std::make_unique<EmbeddedRunner>();
}

ContactSetup contact_setup(const RunRequest& request) {
  // The request has been checked against the schemas of whoever shall open it.
  mbs::RunInput input = run_input(request, {});
  ContactSetup setup{.pairs = {}, .assets = std::move(input.assets)};
  for (PairModel& pair : input.scenario.pairs) setup.pairs.push_back(std::move(pair.spec));
  return setup;
}

ContactFactory embedded_contact() {
  return fem::local_contact_factory(fem::default_cache_directory());
}

std::string try_cache() {
  const std::filesystem::path folder = fem::default_cache_directory();
  if (folder.empty()) {
    throw file_error(
        "cache", "there is none, because neither XDG_CACHE_HOME nor HOME is set: every run meshes and condenses anew");
  }
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const auto trial = folder / fmt::format("doctor.{}.tmp", ::getpid());
  write_whole_file(trial, "written by heelstrike doctor");
  std::filesystem::remove(trial, failure);
  return folder.string();
}

}  // namespace heelstrike::client
