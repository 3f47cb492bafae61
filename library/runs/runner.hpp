/// What carries out a run: this process, or a pair of servers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "library/runs/run_request.hpp"
#include "common/results/run_records.hpp"

namespace heelstrike {

class Runner {
 public:
  virtual ~Runner() = default;

  /// Runs `request` to its end, to a failure, or until `stop` is requested. Everything that the run produced up to its
  /// last committed step has been given to `sink` on return, also when a server died; the summary then says "failed"
  /// and why.
  /// @throws Error when the run could not be started, or what `sink` throws
  virtual RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) = 0;
  /// How long after a stop `run` may go on; then the program ends. None: it hears a stop whatever is being computed.
  [[nodiscard]] virtual std::optional<std::chrono::milliseconds> stop_grace() const { return {}; }
  /// The results of the last run are safe on this side: whoever computed it may drop its copy. @throws Error
  virtual void release() {}
};

}  // namespace heelstrike
