/// The frictional contact of a run, step by step, as problems that other solvers read.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "library/runs/run_request.hpp"

namespace heelstrike {

struct FrictionExport {
  std::string pair;              ///< empty = the only pair
  double from = 0.0;             ///< [s] first time
  double to = 0.0;               ///< [s] last time
  std::filesystem::path folder;  ///< exists
  bool siconos_text = false;     ///< ".dat", else FCLIB's ".hdf5"
};

/// Runs the scenario in this process up to `to` and writes, for every accepted step in between at which the pair
/// touches, the problem that gives its forces: PAIR-STEP.hdf5.
/// @returns the files, in order of time
/// @throws Error{invalid_input} for an unknown pair, Error{unimplemented} for a back-end that solves no such problem,
/// Error{file}, and the error that ended the run before
[[nodiscard]] std::vector<std::filesystem::path> export_friction_problems(const RunRequest& request,
                                                                          const FrictionExport& wanted,
                                                                          const std::stop_token& stop);

}  // namespace heelstrike
