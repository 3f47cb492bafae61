/// What importers of foreign models leave and say.
#pragma once

#include <filesystem>
#include <string_view>

#include "library/terminal/exit_codes.hpp"
#include "importers/scenario_text.hpp"

namespace heelstrike::client {

/// Writes the scenario, named like the model or as `folder` says when it ends in .yaml, its meshes and
/// NOT_IMPORTED.txt, and prints what was imported and what was not, as JSON on request.
/// @throws Error{invalid_input} for a folder that has a scenario of this name already
/// @throws Error for a folder that cannot be written to
ExitCode write_import(const std::filesystem::path& model, const std::filesystem::path& folder,
                      const models::Import& import, bool as_json);

/// Writes what a C3D file has into the folder, in files named like it: markers (.trc), ground reactions (.mot), other
/// analog channels (_analog.sto), events (_events.csv), and NOT_IMPORTED.txt; and prints what they are.
/// @param bytes  content of `file`
/// @throws Error{invalid_input} for what is not a C3D file that can be read, and for a folder that has a file of one of
/// these names
ExitCode write_trial(const std::filesystem::path& file, std::string_view bytes, const std::filesystem::path& folder,
                     bool as_json);

}  // namespace heelstrike::client
