#include "common/process/end_program.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace heelstrike {

void end_program(int exit_code) {
#ifdef HEELSTRIKE_EXIT_AS_USUAL
  std::exit(exit_code);
#else
  (void)std::fflush(nullptr);
  ::_exit(exit_code);
#endif
}

}  // namespace heelstrike
