/// Mesh files as they travel: one text, whatever files it is made of on the disk.
#pragma once

#include <filesystem>
#include <string>

#include "common/files/read_file.hpp"

namespace heelstrike::client {

/// Content of a file. In that of an Abaqus deck (.inp) the files that *INCLUDE and INPUT= of *NODE, *ELEMENT, *NSET,
/// *ELSET and *SURFACE name stand in their places: servers open no files. They are looked for beside the deck, as
/// Abaqus does, then beside the file that names them.
/// @param what  for messages
/// @throws as read_file, for the files named, too; Error{invalid_input} for includes that are nested more than 20 deep
[[nodiscard]] std::string read_mesh_file(const std::filesystem::path& path, const std::string& what,
                                         const ReadLimits& limits = {});

}  // namespace heelstrike::client
