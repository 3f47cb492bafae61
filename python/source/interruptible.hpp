/// Long calls that Ctrl-C interrupts and that report progress to Python.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <heelstrike/options.hpp>

namespace heelstrike::python {

/// Progress and messages of the call, stored until the thread with Python's lock forwards them.
class Watch {
 public:
  void add(const hs::Progress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  void add(const std::string& level, const std::string& text) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(level, text);
  }
  /// @param on_progress  callable or None, called with (stage, fraction, time, end_time, wall_time)
  /// @param on_message   callable or None, called with (level, text)
  void forward(const pybind11::object& on_progress, const pybind11::object& on_message);

 private:
  std::mutex mutex_;
  std::optional<hs::Progress> progress_;  ///< the last one that was not forwarded
  std::vector<std::pair<std::string, std::string>> messages_;
};

/// Executes `work` in a separate thread, without Python's lock; this thread handles signals and forwards progress and
/// messages. A signal handler or callback that raises requests a stop; its exception is raised after the end of the
/// work.
void do_interruptibly(std::stop_source& stop, const pybind11::object& on_progress, const pybind11::object& on_message,
                      const std::function<void(Watch&)>& work);

}  // namespace heelstrike::python
