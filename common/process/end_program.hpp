/// End of a program.
#pragma once

namespace heelstrike {

/// Flushes buffers and ends the process without the destructors of libraries: that of OpenBLAS waits for its threads,
/// and a thread that cannot allocate its buffer (128 MiB) retries forever. All objects of Heelstrike that need
/// destruction must have left their scope before. Builds with sanitizers or for coverage end as usual, because leaks
/// are checked and counts written then.
[[noreturn]] void end_program(int exit_code);

}  // namespace heelstrike
