/// Clocks of the benchmarks.
#pragma once

#include <time.h>

namespace heelstrike::bench {

inline double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// [s] of wall time.
inline double wall_seconds() {
  return seconds_of(CLOCK_MONOTONIC);
}
/// [s] of processor time of the calling thread, independent of other work on a shared machine.
inline double thread_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}
/// [s] of processor time of all threads of this process.
inline double process_seconds() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace heelstrike::bench
