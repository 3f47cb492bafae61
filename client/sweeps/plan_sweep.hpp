/// Plans a sweep in its folder: a new plan keeps what an earlier one has completed.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "client/sweeps/sweep_plan.hpp"
#include "common/process/process.hpp"

namespace heelstrike::client {

struct PlanRequest {
  std::filesystem::path scenario;
  std::vector<std::string> vary;  ///< as of --vary
  Overrides overrides;            ///< of all runs
};

/// Checks all points of a small grid, else every value of every key, with the first values of the other keys; then
/// writes plan and queue. Runs that an earlier plan in this folder has completed, with the same inputs and an intact
/// folder, are kept; unfinished ones are resumed by the next worker; failed ones are repeated. Another process that
/// works on the same plan is joined.
/// @returns a lock, to be kept while this process follows the workers: others then join the plan and do not replace it
/// @throws Error{invalid_input} for errors in the scenario or a value; Error{file}, also while another plan is active
/// in the folder, and for a folder with files of these names that are not of a sweep
[[nodiscard]] Descriptor plan_sweep(const std::filesystem::path& folder, const PlanRequest& request,
                                    const std::stop_token& stop);

}  // namespace heelstrike::client
