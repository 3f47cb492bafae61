/// Ctrl-C, SIGTERM and a closed terminal as a stop request.
#pragma once

#include <stop_token>
#include <thread>

namespace heelstrike {

/// Construct it before any other thread is started: it blocks the signals for the whole process and waits for them in
/// its own thread. The first signal requests a stop; the second ends the program at once with exit code 130 (servers
/// that it started then end, too).
class StopSignal {
 public:
  StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  ~StopSignal();

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  [[nodiscard]] bool requested() const { return stop_.stop_requested(); }

 private:
  void watch(int signal_file);

  std::stop_source stop_;
  int signal_file_ = -1;
  int end_file_ = -1;  ///< becomes readable when the signal thread has to end
  std::thread thread_;
};

}  // namespace heelstrike
