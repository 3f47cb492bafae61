/// Runs on a multibody server, named or private.
#pragma once

#include <memory>

#include "client/runs/runner.hpp"
#include "client/servers/servers.hpp"
#include "client/runs/simulation_client.hpp"

namespace heelstrike::client {

/// A stream that breaks is taken up again where it ended, while the server answers. When the own multibody server dies, what
/// it had written but not yet sent is read from its spool.
class RemoteRunner : public Runner {
 public:
  /// @throws Error as Servers and SimulationClient
  RemoteRunner(const ServerOptions& options, std::filesystem::path log);

  RunSummary run(const RunRequest& request, RunSink& sink, std::stop_token stop) override;

  [[nodiscard]] Servers& servers() { return servers_; }

 private:
  class EventReader;
  void watch(const std::string& run_id, EventReader& reader, std::stop_token stop);
  [[nodiscard]] Error explained(const Error& error);

  Servers servers_;
  SimulationClient client_;
};

}  // namespace heelstrike::client
