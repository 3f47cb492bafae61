/// The section of a scenario that names a foreign model. Whoever reads the file puts what the model gives in its place
/// (library/runs/import_section.hpp), so that all others see an ordinary scenario.
#pragma once

#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

inline constexpr const char* import_section = "import";

[[nodiscard]] KeySchema import_keys();

}  // namespace heelstrike::config
