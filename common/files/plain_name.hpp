/// File names from names of pairs and bodies.
#pragma once

#include <string>

namespace heelstrike {

/// Letters, digits, '-' and '.' are kept, everything else becomes '_', because names of pairs and bodies allow more
/// characters than some file systems.
[[nodiscard]] std::string plain_name(std::string text);

}  // namespace heelstrike
