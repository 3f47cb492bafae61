/// The contact back-ends of this program or library.
#pragma once

#include <vector>

#include "scenario/backend_info.hpp"

namespace heelstrike {

[[nodiscard]] std::vector<BackendInfo> embedded_backends();

}  // namespace heelstrike
