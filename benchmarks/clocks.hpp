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
/// [s] that the calling thread has computed: what other work on a shared machine does not count in.
inline double thread_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}
/// [s] that all threads of this process have computed.
inline double process_seconds() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace heelstrike::bench
