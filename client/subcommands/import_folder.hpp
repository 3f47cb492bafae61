/// Output of the importers of foreign models.
#pragma once

#include <filesystem>
#include <string_view>

#include "importers/scenario_text.hpp"
#include "library/terminal/exit_codes.hpp"

namespace heelstrike::client {

/// @throws Error{invalid_input} if no folder was named. After the model was recognised: its own faults come first.
void require_output(const std::filesystem::path& folder);

/// Writes the scenario, named after the model or by `folder` if that ends in .yaml, its meshes and NOT_IMPORTED.txt,
/// and prints the imported and the omitted elements, optionally as JSON.
/// @throws Error{invalid_input} for a folder that already has a scenario of this name
/// @throws Error for a folder that cannot be written to
ExitCode write_import(const std::filesystem::path& model, const std::filesystem::path& folder,
                      const models::Import& import, bool as_json);

/// Writes the content of a C3D file into files of the folder with the same stem: markers (.trc), ground reactions
/// (.mot), other analog channels (_analog.sto), events (_events.csv), and NOT_IMPORTED.txt; and prints a list.
/// @param bytes  content of `file`
/// @throws Error{invalid_input} for a file that is not a readable C3D file, and for a folder that has a file of one of
/// these names
ExitCode write_trial(const std::filesystem::path& file, std::string_view bytes, const std::filesystem::path& folder,
                     bool as_json);

}  // namespace heelstrike::client
