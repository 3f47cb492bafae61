/// Signals for one thread, in a process whose libraries start threads before main.
#pragma once

#include <csignal>

namespace heelstrike {

/// Blocks `signals` in the calling thread, and in threads that it starts later, and has every other thread that
/// receives one of them pass it on to the calling thread, where it stays pending for sigtimedwait or signalfd.
///
/// Blocking alone is not enough: OpenBLAS starts its threads when it is loaded, before main can block anything, and a
/// SIGTERM that the kernel gives to one of them would end the process at once. One thread of a process may ask for
/// this; it must live as long as signals may come.
void gather_signals_here(const sigset_t& signals);

/// From now on `signals` do nothing to this process, those that are pending included: for its last lines, when they
/// have nothing more to say.
void ignore_signals(const sigset_t& signals);

}  // namespace heelstrike
