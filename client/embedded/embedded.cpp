#include "client/embedded/embedded.hpp"

#include "fem_server/backends/backend.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/run_input.hpp"

namespace heelstrike::client {
namespace {

class EmbeddedRunner : public Runner {
 public:
  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) override {
    std::vector<mbs::ScenarioFile> files;
    files.reserve(request.files.size());
    for (const NamedFile& file : request.files) files.push_back({file.name, file.content});
    mbs::RunInput input =
        mbs::make_run_input(request.yaml, request.file_name, std::move(files), schemas_of(embedded_backends()));
    input.run_id = "in-process";
    return mbs::run_scenario(input, fem::open_local_contact, sink, std::move(stop));
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

}  // namespace heelstrike::client
