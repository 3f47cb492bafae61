/// Makes units: everything that a scenario needs in one file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/fmi/model_description.hpp"
#include "client/runs/run_request.hpp"

namespace heelstrike::client {

/// What units are stepped by.
struct UnitBinaries {
  std::filesystem::path binary;                  ///< becomes that of the unit
  std::vector<std::filesystem::path> libraries;  ///< that it needs, under the names that it needs them by
};

/// Prepares the contacts of `request`, so that whoever opens the unit need not, and writes the unit.
/// @param pair         that becomes a unit alone; empty: the whole scenario
/// @param on_progress  of the preparation
/// @throws Error{invalid_input} as a run; Error{file}
void write_unit(const RunRequest& request, const std::string& pair, FmiVersion version, const UnitBinaries& binaries,
                const std::filesystem::path& file,
                const std::function<void(std::string_view stage, double fraction)>& on_progress);

}  // namespace heelstrike::client
