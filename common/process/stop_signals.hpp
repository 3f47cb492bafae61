/// Signals that stop a program.
#pragma once

#include <csignal>

namespace heelstrike {

/// SIGINT and SIGTERM, and SIGHUP unless it was ignored at program start (nohup).
///
/// No program of Heelstrike has a handler for them. They are blocked in all threads and remain pending until one thread
/// accepts them with sigtimedwait or signalfd. Every program links common_signals_blocked for that.
[[nodiscard]] sigset_t stop_signals();

}  // namespace heelstrike
