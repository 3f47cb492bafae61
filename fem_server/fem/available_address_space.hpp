/// What the process can still have.
#pragma once

namespace heelstrike::fem {

/// [B] of addresses until RLIMIT_AS (`ulimit -v`); infinity without such a limit.
[[nodiscard]] double available_address_space();

}  // namespace heelstrike::fem
