#include "common/signals/gather_signals.hpp"

#include <pthread.h>

#include <atomic>
#include <cerrno>

namespace heelstrike {

namespace {

// A signal handler has no other way to know the thread.
std::atomic<pthread_t> receiver{};
static_assert(std::atomic<pthread_t>::is_always_lock_free, "read in a signal handler");

void set_handler(const sigset_t& signals, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_mask = signals;
  action.sa_flags = SA_RESTART;
  for (int number = 1; number < SIGRTMIN; ++number) {
    if (sigismember(&signals, number) == 1) sigaction(number, &action, nullptr);
  }
}

/// Puts itself in place again: METIS traps SIGTERM for a while and gives the handler back as one that is used once, so
/// that a second signal would have ended the process.
void pass_on(int number) {
  const int kept = errno;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  set_handler(only, pass_on);
  pthread_kill(receiver.load(std::memory_order_relaxed), number);
  errno = kept;
}

}  // namespace

void gather_signals_here(const sigset_t& signals) {
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  receiver.store(pthread_self(), std::memory_order_relaxed);
  set_handler(signals, pass_on);
}

void ignore_signals(const sigset_t& signals) {
  set_handler(signals, SIG_IGN);
}

}  // namespace heelstrike
