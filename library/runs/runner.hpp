/// Execution of a run in this process or on a pair of servers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/results/run_records.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike {

class Runner {
 public:
  virtual ~Runner() = default;

  /// Runs `request` to its end, to a failure, or until `stop` is requested. On return `sink` has received all results
  /// up to the last committed step, also after a server failure; the summary then has the status "failed" and the
  /// reason.
  /// @throws Error when the run could not be started; exceptions of `sink`
  virtual RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) = 0;
  /// Time that `run` may continue after a stop before the program ends. None: a stop is noticed during any computation.
  [[nodiscard]] virtual std::optional<std::chrono::milliseconds> stop_grace() const { return {}; }
  /// The results of the last run are stored by the client: the server may delete its copy. @throws Error
  virtual void release() {}
};

}  // namespace heelstrike
