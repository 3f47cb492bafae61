/// Header of the motion files and storages of OpenSim (.mot, .sto).
#pragma once

#include <cstddef>
#include <string>

namespace heelstrike {

/// Up to the heading of the first column, "time"; the others follow, each after a tab. @param columns  with the time
[[nodiscard]] std::string storage_header(const std::string& name, std::size_t rows, std::size_t columns,
                                         bool in_degrees = false);

}  // namespace heelstrike
