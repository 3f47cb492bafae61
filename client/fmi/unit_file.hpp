/// Makes units: everything that a scenario needs in one file.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "client/fmi/model_description.hpp"
#include "client/runs/run_request.hpp"

namespace heelstrike::client {

/// Prepares the contacts of `request`, so that whoever opens the unit need not, and writes the unit.
/// @param binary       the library with the functions of FMI
/// @param on_progress  of the preparation
/// @throws Error{invalid_input} as a run; Error{file}
void write_unit(const RunRequest& request, FmiVersion version, const std::filesystem::path& binary,
                const std::filesystem::path& file,
                const std::function<void(std::string_view stage, double fraction)>& on_progress);

}  // namespace heelstrike::client
