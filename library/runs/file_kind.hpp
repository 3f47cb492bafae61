/// What a file is that was given in place of a scenario, and which command is for it.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike {

/// "foot.stl, a mesh; heelstrike mesh foot.stl checks it, ..." for files and folders of other kinds, by their names
/// and, where these do not suffice, their first bytes. Empty for what may be a scenario, and for a missing file.
[[nodiscard]] std::string description_if_no_scenario(const std::filesystem::path& path);

/// @throws Error{invalid_input} with this description, and for a missing file with a file of a similar name, else with
/// the example of this name
void require_scenario_file(const std::filesystem::path& path);

/// @throws Error{file} for a file: with the folder of the run that it belongs to, or with the command for it
void require_run_folder(const std::filesystem::path& path);

}  // namespace heelstrike
