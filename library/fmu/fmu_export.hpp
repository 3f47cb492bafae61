/// Export of FMUs: one file with all data of a scenario.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "library/fmu/model_description.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike::fmu {

/// Kind of FMU.
struct FmuExportOptions {
  FmiVersion version = FmiVersion::v3;
  std::string pair{};           ///< pair that is exported alone; empty: the whole scenario
  bool model_exchange = false;  ///< model exchange, without an integrator; else co-simulation
};

/// The part that is in every FMU; it identifies the folder of the parts.
inline constexpr const char* fmu_binary_file = "libheelstrike_fmi.so";

/// Prepares the contacts of `request`, so that importers need no preparation, and writes the FMU.
/// @param parts        folder of the binaries, as built or as installed: libraries with the names of their packages,
/// pictures
/// @param on_progress  of the preparation
/// @throws Error{invalid_input} as a run; Error{file}; Error{unimplemented} for a scenario that does not support model
/// exchange
void export_fmu(const RunRequest& request, const FmuExportOptions& kind, const std::filesystem::path& parts,
                const std::filesystem::path& file,
                const std::function<void(std::string_view stage, double fraction)>& on_progress);

}  // namespace heelstrike::fmu
