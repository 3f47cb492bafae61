/// Makes units: everything that a scenario needs in one file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "library/fmu/model_description.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike::fmu {

/// What becomes a unit, and how.
struct FmuExportOptions {
  FmiVersion version = FmiVersion::v3;
  std::string pair{};           ///< that becomes a unit alone; empty: the whole scenario
  bool model_exchange = false;  ///< without an integrator; else for co-simulation
};

/// The part that is in every unit; who looks for the parts looks for this one.
inline constexpr const char* fmu_binary_file = "libheelstrike_fmi.so";

/// Prepares the contacts of `request`, so that whoever opens the unit need not, and writes the unit.
/// @param parts        folder of what units are stepped by, as built or as installed: libraries with the names of the
///                     packages that they need, pictures
/// @param on_progress  of the preparation
/// @throws Error{invalid_input} as a run; Error{file}; Error{unimplemented} for a scenario that model exchange cannot
/// have
void export_fmu(const RunRequest& request, const FmuExportOptions& kind, const std::filesystem::path& parts,
                const std::filesystem::path& file,
                const std::function<void(std::string_view stage, double fraction)>& on_progress);

}  // namespace heelstrike::fmu
