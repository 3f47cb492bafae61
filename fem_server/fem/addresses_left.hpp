/// What the process can still have.
#pragma once

namespace heelstrike::fem {

/// [B] of addresses until RLIMIT_AS (`ulimit -v`); infinity without such a limit.
[[nodiscard]] double addresses_left();

}  // namespace heelstrike::fem
