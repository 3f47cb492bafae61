/// Names of parts of a run as names of files.
#pragma once

#include <string>

namespace heelstrike {

/// Letters, digits, '-' and '.' stay, everything else becomes '_': what pairs and bodies may be called is more than
/// what every file system takes.
[[nodiscard]] std::string plain_name(std::string text);

}  // namespace heelstrike
