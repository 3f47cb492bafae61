/// The composition root: the one place that knows both servers. Runs in this process without sockets, and the back-ends
/// this program was built with.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "library/composition/backends.hpp"
#include "library/runs/runner.hpp"
#include "common/contact/contact.hpp"
#include "common/results/model_description.hpp"

namespace heelstrike {

/// The pairs of a scenario with the files they name.
struct ContactSetup {
  std::vector<PairSpec> pairs;  ///< meshes by digest
  std::vector<AssetContent> assets;
};
[[nodiscard]] ContactSetup contact_setup(const RunRequest& request);

/// What is allowed in the pairs but hardly meant (sizes, units, moduli), "KEY: sentence"; reads the meshes and prepares
/// nothing. Back-ends that this program does not have are left to their server.
/// @throws config::Mistake with file and line of every pair that no preparation could make good: surfaces that the
/// back-end does not take, missing materials and supports, meshes that cannot be read, sizes that make no sense
[[nodiscard]] std::vector<std::string> find_pair_warnings(const RunRequest& request);

/// What a scenario comes to when its model is built and assembled, without its contact prepared.
struct BuiltModel {
  ModelDescription description;
  std::vector<ParameterMap> parameters;  ///< per pair with the defaults in force; as written for a foreign back-end
};
/// @throws Error{invalid_input} as a run would before its contact is prepared
[[nodiscard]] BuiltModel build_model(const RunRequest& request, const std::stop_token& stop);

/// Opens contact in this process, with the user's cache of prepared products.
[[nodiscard]] ContactFactory embedded_contact();
/// Integrates in this process. @param contact  where contact is computed
[[nodiscard]] std::unique_ptr<Runner> make_embedded_runner(ContactFactory contact = embedded_contact());

/// Writes into the user's cache of prepared products. @returns the folder
/// @throws Error{file} when there is none or it cannot be written
[[nodiscard]] std::string check_cache();

}  // namespace heelstrike
