/// Runs that can be looked at: those of a multibody server, or run folders that are being written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/live/live_run.hpp"

namespace heelstrike {

struct LiveRunEntry {
  std::string id;     ///< unique, [A-Za-z0-9._-]
  std::string label;  ///< for people
  LiveState state;
};

/// Thread-safe. Looking never disturbs a run.
class LiveRuns {
 public:
  virtual ~LiveRuns() = default;

  /// What is looked at: "mbs_server at 127.0.0.1:50061".
  [[nodiscard]] virtual std::string source() const = 0;
  /// Those that go on first, then the most recent ones. @throws Error{unavailable}
  [[nodiscard]] virtual std::vector<LiveRunEntry> list() = 0;
  /// The run, followed from now on. @throws Error{not_found}, Error{unavailable}, Error{limit}
  [[nodiscard]] virtual std::shared_ptr<LiveRun> find(const std::string& id) = 0;
  [[nodiscard]] virtual bool can_cancel() const = 0;
  /// Asks a run to stop at its next step. @throws Error{not_found}, Error{unavailable}
  virtual void cancel(const std::string& id) = 0;
};

}  // namespace heelstrike
