/// The contact back-ends that this program or library was built with.
#pragma once

#include <vector>

#include "common/contact/backend_info.hpp"

namespace heelstrike {

[[nodiscard]] std::vector<BackendInfo> embedded_backends();

}  // namespace heelstrike
