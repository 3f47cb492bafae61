/// Files that are installed with the program, and copies of them in a folder of the user.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace heelstrike::client {

/// A folder of this installation, share/heelstrike/NAME below the prefix of the program, as built or as installed.
/// @throws Error{file} if it is missing
[[nodiscard]] std::filesystem::path shared_folder(const std::string& name);

/// Text of a scenario whose first line refers editors to the installed JSON Schema of this program.
[[nodiscard]] std::string with_schema_line(const std::string& scenario);

/// @param force  existing files may be replaced
/// @throws Error{file} with all existing files
void check_new_files(const std::vector<std::filesystem::path>& paths, bool force);

/// Writes files and creates their folders. Nothing is written if one of them exists.
/// @throws as check_new_files; Error{file} for a file that cannot be written
void write_new_files(const std::map<std::filesystem::path, std::string>& contents, bool force);

}  // namespace heelstrike::client
