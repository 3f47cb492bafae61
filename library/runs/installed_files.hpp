/// Places of the files that are installed with the program.
#pragma once

#include <filesystem>
#include <string>

namespace heelstrike {

/// share/heelstrike/NAME below the prefix of the program, as built or as installed; it need not exist.
[[nodiscard]] std::filesystem::path installed_path(const std::string& name);

}  // namespace heelstrike
