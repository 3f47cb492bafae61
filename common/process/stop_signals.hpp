/// What asks a program to stop.
#pragma once

#include <csignal>

namespace heelstrike {

/// SIGINT and SIGTERM, and SIGHUP unless whoever started the program had it ignored (nohup).
///
/// No program of ours has a handler for them: they are blocked in all threads, where they stay pending until one thread
/// takes them with sigtimedwait or signalfd. Every program links common_signals_blocked for that, see there.
[[nodiscard]] sigset_t stop_signals();

}  // namespace heelstrike
