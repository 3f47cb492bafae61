/// Observable runs: those of a multibody server, or run folders in progress.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/live/live_run.hpp"

namespace heelstrike {

struct LiveRunEntry {
  std::string id;     ///< unique, [A-Za-z0-9._-]
  std::string label;  ///< for display
  LiveState state;
};

/// Thread-safe. Observation never affects a run.
class LiveRuns {
 public:
  virtual ~LiveRuns() = default;

  /// Description of the source: "mbs_server at 127.0.0.1:50061".
  [[nodiscard]] virtual std::string source() const = 0;
  /// Active runs first, then the most recent ones. @throws Error{unavailable}
  [[nodiscard]] virtual std::vector<LiveRunEntry> list() = 0;
  /// The run, followed from this call on. @throws Error{not_found}, Error{unavailable}, Error{limit}
  [[nodiscard]] virtual std::shared_ptr<LiveRun> find(const std::string& id) = 0;
  [[nodiscard]] virtual bool can_cancel() const = 0;
  /// Requests that a run stops at its next step. @throws Error{not_found}, Error{unavailable}
  virtual void cancel(const std::string& id) = 0;
};

}  // namespace heelstrike
