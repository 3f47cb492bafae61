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

/// A stream that breaks is taken up again where it ended, for ServerOptions::patience. A multibody server that dies
/// goes on with its runs when it is there again: an own one is started anew at once. When it is not started again, what
/// it had written but not yet sent is read from its spool.
class RemoteRunner : public Runner {
 public:
  /// @throws Error as Servers and SimulationClient
  RemoteRunner(const ServerOptions& options, std::filesystem::path log);

  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) override;
  /// A run that somebody has submitted. run() then collects this one, from its first event on, in place of submitting
  /// another; with RunRequest::resume_from from that checkpoint on.
  /// @returns the request as it was submitted, not yet parsed. @throws Error{not_found}
  [[nodiscard]] RunRequest attach(const std::string& run_id);
  /// Lets a named server forget the last run, if it ended; the spool of an own one vanishes anyway.
  void release() override;

  [[nodiscard]] Servers& servers() { return servers_; }

 private:
  void watch(const std::string& run_id, EventReader& reader, RunSink& sink, std::stop_token stop);
  void forward_messages(RunSink& sink);
  RunSummary collect(const std::string& run_id, const RunRequest& request, EventReader& reader, RunSink& sink,
                     std::stop_token stop);
  [[nodiscard]] Error explained(const Error& error);

  std::chrono::milliseconds reconnect_timeout_;
  Servers servers_;
  SimulationClient client_;
  std::string attached_run_;  ///< to be collected; empty = none
  std::string finished_run_;  ///< whose last event has arrived; empty = none
};

}  // namespace heelstrike
