/// Address space available to the process.
#pragma once

namespace heelstrike::fem {

/// [B] remaining address space below RLIMIT_AS (`ulimit -v`); infinity without such a limit.
[[nodiscard]] double available_address_space();

}  // namespace heelstrike::fem
