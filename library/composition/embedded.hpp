/// The composition root: the only code that links both servers. Runs in this process without sockets, with the
/// back-ends of this program.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/results/run_records.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/runner.hpp"
#include "scenario/inverse_kinematics.hpp"

namespace heelstrike {

/// The pairs of a scenario with the files that they name.
struct ContactSetup {
  std::vector<PairSpec> pairs;  ///< meshes by digest
  std::vector<AssetContent> assets;
};
[[nodiscard]] ContactSetup contact_setup(const RunRequest& request);

/// Warnings about valid but implausible pairs (sizes, units, moduli), "KEY: sentence". Reads the meshes and prepares
/// nothing. Pairs with back-ends that this program does not have are checked by their server.
/// @throws config::Issue with file and line of every error that no preparation can resolve: surfaces that the
/// back-end does not accept, missing materials and supports, unreadable meshes, invalid sizes
[[nodiscard]] std::vector<std::string> find_pair_warnings(const RunRequest& request);

/// Checks that a host can advance the scenario in time: for every door through which it is stepped instead of run.
/// @throws config::Issue with file and line for an analysis that is computed only as a whole; Error{invalid_input} as
/// build_model() for a model that the analysis does not support
void require_steppable(const RunRequest& request, const std::stop_token& stop = {});

/// Checks the FMUs of a scenario before its run: first their files, then, in a copy of this process, whether their
/// binaries can be loaded and instantiated.
/// @throws Error{invalid_input} for a damaged FMU, one without a binary for this system, variables it does not have,
/// and a binary that fails or crashes
void check_fmus(const RunRequest& request, const std::stop_token& stop = {});

/// Model of a scenario, built and assembled, without prepared contact.
struct BuiltModel {
  ModelDescription description;
  std::vector<ParameterMap> parameters;  ///< per pair, defaults included; as written if the back-end is foreign
};
/// @throws Error{invalid_input} as a run would before its contact is prepared
[[nodiscard]] BuiltModel build_model(const RunRequest& request, const std::stop_token& stop);

/// Coordinates of the joints of a scenario from markers; see mbs_server/analysis/inverse_kinematics.hpp.
/// @param on_frame  after every frame, with the number of frames done
[[nodiscard]] InverseKinematicsResult solve_inverse_kinematics(const RunRequest& request,
                                                               const InverseKinematicsTask& task,
                                                               const std::function<void(std::size_t)>& on_frame,
                                                               const std::stop_token& stop);

/// Opens contacts in this process, with the user's cache of prepared products.
[[nodiscard]] ContactFactory embedded_contact();
/// Integrates in this process. @param contact  location of the contact computation
[[nodiscard]] std::unique_ptr<Runner> make_embedded_runner(ContactFactory contact = embedded_contact());

/// Writes a trial file into the user's cache of prepared products. @returns the folder
/// @throws Error{file} when there is no cache or it is not writable
[[nodiscard]] std::string check_cache();

}  // namespace heelstrike
