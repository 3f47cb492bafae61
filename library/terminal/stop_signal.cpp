#include "library/terminal/stop_signal.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include "common/process/end_program.hpp"
#include "library/terminal/exit_codes.hpp"

namespace heelstrike {

StopSignal::StopSignal() {
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal_file_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
  end_file_ = ::eventfd(0, EFD_CLOEXEC);
  if (signal_file_ < 0 || end_file_ < 0)
    throw std::system_error(errno, std::generic_category(), "cannot wait for signals");
  thread_ = std::thread([this] { watch(signal_file_); });
}

StopSignal::~StopSignal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(end_file_, &one, sizeof(one));
  thread_.join();
  ::close(signal_file_);
  ::close(end_file_);
}

void StopSignal::watch(int signal_file) {
  std::array<pollfd, 2> waiting{pollfd{signal_file, POLLIN, 0}, pollfd{end_file_, POLLIN, 0}};
  while (true) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents == 0) continue;
    signalfd_siginfo info{};
    if (::read(signal_file, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) continue;
    if (stop_.stop_requested()) ::_exit(to_int(ExitCode::interrupted));
    stop_.request_stop();
  }
}

}  // namespace heelstrike
