/// What importers of foreign models leave and say.
#pragma once

#include <filesystem>

#include "client/exit_codes.hpp"
#include "client/models/scenario_text.hpp"

namespace heelstrike::client {

/// Writes the scenario, named like the model, its meshes and NOT_IMPORTED.txt, and prints what was imported and what
/// was not, as JSON on request.
/// @throws Error{invalid_input} for a folder that has a scenario of this name already
/// @throws Error for a folder that cannot be written to
ExitCode write_import(const std::filesystem::path& model, const std::filesystem::path& folder,
                      const models::Import& import, bool as_json);

}  // namespace heelstrike::client
