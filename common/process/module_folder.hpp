/// Where the files lie that are installed with this program or library.
#pragma once

#include <filesystem>

namespace heelstrike {

/// Folder of the file, program or shared library, that this code was linked into; "." if it cannot be told.
[[nodiscard]] std::filesystem::path module_folder();

}  // namespace heelstrike
