/// Location of the files that are installed with this program or library.
#pragma once

#include <filesystem>

namespace heelstrike {

/// Folder of the program or shared library that contains this code; "." if it cannot be determined.
[[nodiscard]] std::filesystem::path module_folder();

}  // namespace heelstrike
