/// The section `import` of a scenario: the foreign model is read together with the scenario, so that all later stages
/// process one scenario without the section.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/catalog.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike {

/// A scenario with its imported model.
struct ImportedScenario {
  std::string yaml;                    ///< without the section; lines of the model follow those of the scenario
  std::string model;                   ///< name of the model file, as in the scenario; empty = no import
  std::vector<std::string> omissions;  ///< skipped or approximated elements of the model
};

/// @param folder  to which file names are relative
/// @throws Error{invalid_input} with file and line, for errors in the section, in the model and in the changes of it,
/// and for a key that both the scenario and the model have
[[nodiscard]] ImportedScenario with_import(std::string_view yaml, const std::string& file_name,
                                           const std::filesystem::path& folder, const Catalog& catalog,
                                           const std::stop_token& stop);

/// The files that the section `import` of a scenario names, as named there; empty without the section.
[[nodiscard]] std::vector<std::string> files_of_import(const config::Document& document);

}  // namespace heelstrike
