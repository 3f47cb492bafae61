/// Runs on a multibody server, named or private.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "library/runs/event_reader.hpp"
#include "library/runs/runner.hpp"
#include "library/runs/simulation_client.hpp"
#include "library/servers/servers.hpp"

namespace heelstrike {

/// A broken stream is resumed where it ended, for ServerOptions::reconnect_timeout. A restarted multibody server
/// continues its runs; a private one is restarted at once. If it is not restarted, events that were written but not
/// sent are read from its spool.
class RemoteRunner : public Runner {
 public:
  /// @throws Error as Servers and SimulationClient
  RemoteRunner(const ServerOptions& options, std::filesystem::path log);

  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) override;
  /// A run that was submitted earlier. run() then collects this run, from its first event, instead of submitting one;
  /// with RunRequest::resume_from, from that checkpoint.
  /// A stop leaves the run on the server, with Error{cancelled}, because other clients may collect it, too.
  /// @returns the request as it was submitted, not yet parsed. @throws Error{not_found}
  [[nodiscard]] RunRequest attach(const std::string& run_id);
  /// Requests the server to stop the run; it is then collected like a run that ended. @throws Error{not_found}
  void cancel(const std::string& run_id);
  /// Deletes the last run on a named server if it ended; the spool of a private server is removed anyway.
  void release() override;

  [[nodiscard]] Servers& servers() { return servers_; }

 private:
  void watch(const std::string& run_id, EventReader& reader, RunSink& sink, std::stop_token stop);
  void forward_messages(RunSink& sink);
  RunSummary collect(const std::string& run_id, const RunRequest& request, EventReader& reader, RunSink& sink,
                     const std::stop_token& stop);
  [[nodiscard]] Error explained(const Error& error);

  std::chrono::milliseconds reconnect_timeout_;
  Servers servers_;
  SimulationClient client_;
  SimulationClient::AtStop at_stop_ = SimulationClient::AtStop::cancel;
  std::string attached_run_;  ///< run to be collected; empty = none
  std::string finished_run_;  ///< run whose last event has arrived; empty = none
};

}  // namespace heelstrike
