/// The section `import` of a scenario: a foreign model is read where the scenario is, so that all who come after see
/// one scenario without it.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/catalog.hpp"

namespace heelstrike {

/// A scenario with what it imports.
struct ImportedScenario {
  std::string yaml;                    ///< without the section; what the model gives follows the scenario's own lines
  std::string model;                   ///< name of the model's file, as in the scenario; empty = it imports nothing
  std::vector<std::string> omissions;  ///< what of the model is not in the scenario, or is in it in another way
};

/// @param folder  that the names of files start from
/// @throws Error{invalid_input} with file and line, for mistakes in the section, in the model and in the changes of it,
/// and for a key that the scenario and the model both give
[[nodiscard]] ImportedScenario with_import(std::string_view yaml, const std::string& file_name,
                                           const std::filesystem::path& folder, const Catalog& catalog,
                                           const std::stop_token& stop);

}  // namespace heelstrike
