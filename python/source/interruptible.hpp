/// Long work that Ctrl-C ends and whose progress Python hears of.
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

/// What the work has to tell, until the thread that has Python's lock hands it on.
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
  std::optional<hs::Progress> progress_;  ///< the last one that was not handed on
  std::vector<std::pair<std::string, std::string>> messages_;
};

/// Does `work` in a thread of its own, without Python's lock; meanwhile this thread hears signals and hands on what the
/// work tells. A signal whose handler raises, and a callback that does, request a stop; what they raised is raised when
/// the work has ended.
void do_interruptibly(std::stop_source& stop, const pybind11::object& on_progress, const pybind11::object& on_message,
                      const std::function<void(Watch&)>& work);

}  // namespace heelstrike::python
