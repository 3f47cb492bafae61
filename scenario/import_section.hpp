/// The section of a scenario that imports a foreign model. It is replaced by the imported model when the file is read
/// (library/runs/import_section.hpp), so that all other code uses an ordinary scenario.
#pragma once

#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

inline constexpr const char* import_section = "import";

[[nodiscard]] KeySchema import_keys();

}  // namespace heelstrike::config
