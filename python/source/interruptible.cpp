#include "python/source/interruptible.hpp"

#include <chrono>
#include <exception>
#include <future>
#include <thread>

namespace heelstrike::python {

namespace py = pybind11;

void Watch::forward(const py::object& on_progress, const py::object& on_message) {
  std::optional<hs::Progress> progress;
  std::vector<std::pair<std::string, std::string>> messages;
  {
    const std::lock_guard lock(mutex_);
    progress.swap(progress_);
    messages.swap(messages_);
  }
  if (!on_message.is_none()) {
    for (const auto& [level, text] : messages) on_message(level, text);
  }
  if (progress && !on_progress.is_none()) {
    on_progress(progress->stage, progress->fraction, progress->time, progress->end_time, progress->wall_time);
  }
}

void do_interruptibly(std::stop_source& stop, const py::object& on_progress, const py::object& on_message,
                      const std::function<void(Watch&)>& work) {
  // Short enough for interactive use, long enough to cost the work nothing.
  constexpr std::chrono::milliseconds poll_interval{50};
  Watch watch;
  std::promise<void> promise;
  std::future<void> ended = promise.get_future();
  std::exception_ptr raised;
  {
    const std::jthread worker([&] {
      try {
        work(watch);
        promise.set_value();
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    });
    const auto has_ended = [&] {
      const py::gil_scoped_release released;
      return ended.wait_for(poll_interval) == std::future_status::ready;
    };
    while (!has_ended()) {
      if (raised) continue;
      try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        watch.forward(on_progress, on_message);
      } catch (...) {
        raised = std::current_exception();
        stop.request_stop();
      }
    }
  }
  if (raised) std::rethrow_exception(raised);
  watch.forward(on_progress, on_message);
  ended.get();
}

}  // namespace heelstrike::python
