/// Mesh files as they are sent: one text for a mesh in several files.
#pragma once

#include <filesystem>
#include <string>

#include "common/files/read_file.hpp"

namespace heelstrike {

/// Content of a file. In an Abaqus deck (.inp), files that *INCLUDE and INPUT= of *NODE, *ELEMENT, *NSET, *ELSET and
/// *SURFACE name are inserted, because servers open no files. They are searched beside the deck, as in Abaqus, then
/// beside the file that names them.
/// @param what  for messages
/// @throws as read_file, also for the included files; Error{invalid_input} for includes nested more than 20 deep
[[nodiscard]] std::string read_mesh_file(const std::filesystem::path& path, const std::string& what,
                                         const ReadLimits& limits = {});

}  // namespace heelstrike
