#pragma once

#include "fem_server/backends/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry fem_modal_entry();

}  // namespace heelstrike::fem
