/// The runs of a multibody server.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "library/runs/simulation_client.hpp"
#include "report/live/live_runs.hpp"

namespace heelstrike::client {

/// A run is followed from the first request until no request has come for half a minute. A new run that is not over is
/// followed as soon as it is listed, because its client deletes it on the server at its end. The server sends events
/// from its spool at the rate of this reader, so observers never delay a run.
class ServerRuns final : public LiveRuns {
 public:
  /// @throws Error{unavailable} when the address does not respond
  explicit ServerRuns(const rpc::Endpoint& endpoint);

  [[nodiscard]] std::string source() const override { return peer_; }
  [[nodiscard]] std::vector<LiveRunEntry> list() override;
  [[nodiscard]] std::shared_ptr<LiveRun> find(const std::string& id) override;
  [[nodiscard]] bool can_cancel() const override { return true; }
  void cancel(const std::string& id) override;

 private:
  struct FollowedRun {
    std::shared_ptr<LiveRun> run;
    std::chrono::steady_clock::time_point last_request;
    std::jthread thread;
  };
  void follow(const std::string& id, LiveRun& run, const std::stop_token& stop);
  std::shared_ptr<LiveRun> start_following_locked(const std::string& id);
  void follow_new_runs_locked(const std::vector<LiveRunEntry>& listed);
  void stop_unwatched_locked();

  std::string peer_;
  SimulationClient client_;
  std::mutex mutex_;  ///< guards the members below
  std::map<std::string, FollowedRun> followed_;
  std::set<std::string> listed_;  ///< runs of the last list: all others are new
};

}  // namespace heelstrike::client
