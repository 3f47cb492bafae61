// Blocks SIGINT, SIGTERM and SIGHUP before any library of the program is initialised, so that every thread inherits it.
//
// Blocking in main is too late: OpenBLAS starts its threads when it is loaded, and a SIGTERM delivered to one of them
// ends the process. A handler does not help either: METIS installs a SIGTERM handler while it orders a matrix; the
// handler jumps (longjmp) to a frame that only the thread which called METIS has. A signal that is blocked in all
// threads runs no handler.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

namespace {

// The system call itself: this runs before the sanitizers, which replace sigprocmask, are ready.
__attribute__((no_sanitize("address", "thread", "undefined"))) void block_stop_signals(int /*argc*/, char** /*argv*/,
                                                                                       char** /*environment*/) {
  const std::uint64_t signals =
      (std::uint64_t{1} << (SIGINT - 1)) | (std::uint64_t{1} << (SIGTERM - 1)) | (std::uint64_t{1} << (SIGHUP - 1));
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, nullptr, sizeof(signals));
}

// The dynamic linker calls these functions before it initialises the first library (System V ABI, DT_PREINIT_ARRAY).
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = block_stop_signals;

}  // namespace
