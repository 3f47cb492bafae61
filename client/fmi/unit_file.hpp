/// Makes units: everything that a scenario needs in one file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "client/fmi/model_description.hpp"
#include "client/runs/run_request.hpp"

namespace heelstrike::client {

/// What units are stepped by.
struct UnitBinaries {
  std::filesystem::path binary;    ///< becomes that of the unit
  std::filesystem::path library;   ///< that it needs, under the name that it needs it by
  std::filesystem::path elements;  ///< module that the library loads for finite elements; empty = there is none
  // Texts: names of the packages with the libraries that are needed.
  std::filesystem::path packages;           ///< by binary and library
  std::filesystem::path elements_packages;  ///< by the module; empty as it
};

/// What becomes a unit, and how.
struct UnitKind {
  FmiVersion version = FmiVersion::v3;
  std::string pair{};           ///< that becomes a unit alone; empty: the whole scenario
  bool model_exchange = false;  ///< without an integrator; else for co-simulation
};

/// Prepares the contacts of `request`, so that whoever opens the unit need not, and writes the unit.
/// @param all          the module goes along where a contact works with finite elements
/// @param on_progress  of the preparation
/// @throws Error{invalid_input} as a run; Error{file}; Error{unimplemented} for a scenario that model exchange cannot
/// have
void write_unit(const RunRequest& request, const UnitKind& kind, const UnitBinaries& all,
                const std::filesystem::path& file,
                const std::function<void(std::string_view stage, double fraction)>& on_progress);

}  // namespace heelstrike::client
