#include "common/rpc/exit_timer.hpp"

#include <unistd.h>

#include <utility>

#include "common/rpc/backoff.hpp"

namespace heelstrike::rpc {

ExitTimer::ExitTimer(std::chrono::milliseconds grace, int exit_code, std::function<void()> last_words)
    : thread_([grace, exit_code, say = std::move(last_words)](const std::stop_token& ended) {
        if (!wait_unless_stopped(grace, ended)) return;
        say();
        ::_exit(exit_code);
      }) {}

}  // namespace heelstrike::rpc
