#include "library/composition/embedded.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/process/call_in_child.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "mbs_server/analysis/inverse_kinematics.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/resume_from.hpp"
#include "mbs_server/service/run_input.hpp"
#include "mbs_server/simulation/fmu_elements.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike {
namespace {

/// @param schemas  of the back-ends whose file parameters become digests; empty = parameters stay as written
mbs::RunInput run_input(const RunRequest& request, const BackendSchemas& schemas) {
  mbs::RunInput input = request.text_changed
                            ? mbs::make_run_input(request.yaml, request.file_name, request.files, schemas)
                            : mbs::make_run_input(request.scenario, request.yaml, request.files, schemas);
  input.allow_fmus = true;  // the user's own scenario, in the user's own process
  return input;
}

class EmbeddedRunner : public Runner {
 public:
  explicit EmbeddedRunner(ContactFactory contact) : contact_(std::move(contact)) {}
  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) override {
    mbs::RunInput input = run_input(request, schemas_of(embedded_backends()));
    input.run_id = "in-process";
    if (!request.resume_from.empty()) mbs::resume_from(request.resume_from, input);
    return mbs::run_scenario(input, contact_, sink, std::move(stop));
  }
  /// A factorisation or a large contact does not poll the stop for seconds.
  [[nodiscard]] std::optional<std::chrono::milliseconds> stop_grace() const override { return std::chrono::seconds{1}; }

 private:
  ContactFactory contact_;
};

bool is_known(const std::string& backend) {
  return std::ranges::find(fem::backend_registry(), backend, &fem::BackendEntry::name) != fem::backend_registry().end();
}

bool is_rigid(const PairModel& pair) {
  return is_known(pair.spec.backend) && has_rigid_bodies(fem::find_backend(pair.spec.backend).parameters);
}

/// An error about a key of the scenario with its position in the file.
config::Issue located(const RunRequest& request, const Error& error) {
  return config::issue_of(config::load_document(request.yaml, request.file_name), error);
}

/// Errors that the analysis finds in open pairs. @throws config::Issue
void require_fitting_analysis(const RunRequest& request, const Scenario& scenario) {
  std::vector<PairDescription> pairs;
  for (const PairModel& pair : scenario.pairs) {
    pairs.push_back(is_known(pair.spec.backend) ? fem::predict_description(fem::checked_pair(pair.spec))
                                                : PairDescription{});
  }
  try {
    mbs::check_pairs(scenario, pairs);
  } catch (const Error& error) {
    throw located(request, error);
  }
}

/// Rigid bodies that overlap at the start are an error of the file. @throws config::Issue
void require_rigid_bodies_apart(const RunRequest& request, mbs::RunInput input) {
  std::erase_if(input.scenario.pairs, [](const PairModel& pair) { return !is_rigid(pair); });
  if (input.scenario.pairs.empty()) return;
  try {
    mbs::check_rigid_start(input, embedded_contact());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return;   // the mesh is in the folder of a server
    if (!error.field().starts_with("contact.")) throw;  // an error of the model already has its location
    throw located(request, error);
  }
}

}  // namespace

std::vector<std::string> find_pair_warnings(const RunRequest& request) {
  mbs::RunInput input = run_input(request, {});
  const fem::PrepareContext context{
      .asset = [&](const AssetKey& file) -> const AssetContent& { return fem::find_asset(input.assets, file); },
      .on_progress = [](std::string_view, double) {},
      .stop = {}};
  std::vector<std::string> warnings;
  config::Issues issues;  // of all pairs are reported together
  for (const PairModel& pair : input.scenario.pairs) {
    if (!is_known(pair.spec.backend)) continue;
    try {
      std::ranges::move(fem::find_pair_warnings(fem::checked_pair(pair.spec), context), std::back_inserter(warnings));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      // The mesh is in the folder of a server.
      if (error.code() != ErrorCode::not_found) issues.add(located(request, error));
    }
  }
  issues.raise();
  require_fitting_analysis(request, input.scenario);
  require_rigid_bodies_apart(request, std::move(input));
  return warnings;
}

void require_steppable(const RunRequest& request, const std::stop_token& stop) {
  try {
    mbs::check_steppable(run_input(request, {}).scenario, stop);
  } catch (const Error& error) {
    if (!error.field().starts_with("analysis.")) throw;  // an error of the model already has its location
    throw located(request, error);
  }
}

std::unique_ptr<Runner> make_embedded_runner(ContactFactory contact) {
  return std::make_unique<EmbeddedRunner>(std::move(contact));
}

ContactSetup contact_setup(const RunRequest& request) {
  // The request has been checked against the schemas of the server that opens it.
  mbs::RunInput input = run_input(request, {});
  ContactSetup setup{.pairs = {}, .assets = std::move(input.assets)};
  for (PairModel& pair : input.scenario.pairs) setup.pairs.push_back(std::move(pair.spec));
  return setup;
}

InverseKinematicsResult solve_inverse_kinematics(const RunRequest& request, const InverseKinematicsTask& task,
                                                 const std::function<void(std::size_t)>& on_frame,
                                                 const std::stop_token& stop) {
  return mbs::solve_inverse_kinematics(run_input(request, {}).scenario, task, on_frame, stop);
}

void check_fmus(const RunRequest& request, const std::stop_token& stop) {
  const mbs::RunInput input = run_input(request, {});
  mbs::check_fmu_files(input, stop);
  const std::vector<std::string> fmus = mbs::fmu_elements(input.scenario);
  if (fmus.empty()) return;
  // In a copy of this process: the run loads them again, and some cannot be loaded twice in one process.
  call_in_child(
      fmt::format("{}: the binary of the FMU", fmt::join(fmus, ", ")),
      [&] { mbs::Simulation(input, stop).check_fmus(); }, stop);
}

BuiltModel build_model(const RunRequest& request, const std::stop_token& stop) {
  mbs::RunInput input = run_input(request, {});
  input.allow_fmus = true;  // as in a run of the user's own scenario
  check_fmus(request, stop);
  BuiltModel model{.description = mbs::describe_scenario(input.scenario, stop), .parameters = {}};
  for (const PairModel& pair : input.scenario.pairs) {
    model.parameters.push_back(is_known(pair.spec.backend) ? fem::checked_pair(pair.spec).parameters
                                                           : pair.spec.parameters);
  }
  return model;
}

ContactFactory embedded_contact() {
  return fem::local_contact_factory(fem::default_cache_directory());
}

std::string check_cache() {
  const std::filesystem::path folder = fem::default_cache_directory();
  if (folder.empty()) {
    throw file_error(
        "cache",
        "no cache folder, because neither XDG_CACHE_HOME nor HOME is set: every run repeats meshing and condensation");
  }
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const auto trial = folder / fmt::format("doctor.{}.tmp", ::getpid());
  write_whole_file(trial, "written by heelstrike doctor");
  std::filesystem::remove(trial, failure);
  return folder.string();
}

}  // namespace heelstrike
