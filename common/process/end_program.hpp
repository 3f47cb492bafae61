/// End of a program: the signals that stop it, and its exit.
#pragma once

#include <csignal>

namespace heelstrike {

/// SIGINT and SIGTERM, and SIGHUP unless it was ignored at program start (nohup).
///
/// No program of Heelstrike has a handler for them. They are blocked in all threads and remain pending until one thread
/// accepts them with sigtimedwait or signalfd. Every program links common_signals_blocked for that.
[[nodiscard]] sigset_t stop_signals();

/// Flushes buffers and ends the process without the destructors of libraries: that of OpenBLAS waits for its threads,
/// and a thread that cannot allocate its buffer (128 MiB) retries forever. All objects of Heelstrike that need
/// destruction must have left their scope before. Builds with sanitizers or for coverage end as usual, because leaks
/// are checked and counts written then.
[[noreturn]] void end_program(int exit_code);

}  // namespace heelstrike
