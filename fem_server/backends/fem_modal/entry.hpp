#pragma once

#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

[[nodiscard]] BackendEntry fem_modal_entry();

}  // namespace heelstrike::fem
