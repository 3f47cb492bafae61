/// What a file is that was given in place of a scenario, and which command is for it.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike {

/// "foot.stl, a mesh; heelstrike mesh foot.stl checks it, ..." for files and folders of other kinds, by their names
/// and, where these do not suffice, their first bytes. Empty for what may be a scenario, and for a missing file.
[[nodiscard]] std::string description_if_no_scenario(const std::filesystem::path& path);

/// @throws Error{invalid_input} with this description
void require_scenario_file(const std::filesystem::path& path);

}  // namespace heelstrike
