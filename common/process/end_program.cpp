#include "common/process/end_program.hpp"

#include <unistd.h>
#include <cstdio>
#include <cstdlib>

namespace heelstrike {

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  struct sigaction inherited {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  return signals;
}

void end_program(int exit_code) {
#ifdef HEELSTRIKE_EXIT_AS_USUAL
  std::exit(exit_code);
#else
  (void)std::fflush(nullptr);
  ::_exit(exit_code);
#endif
}

}  // namespace heelstrike
