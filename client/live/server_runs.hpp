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

#include "report/live/live_runs.hpp"
#include "library/runs/simulation_client.hpp"

namespace heelstrike::client {

/// A run is followed from the moment somebody asks for it until nobody has asked for half a minute; a new one that goes
/// on already from the moment it is listed, since its client lets the server forget it as soon as it has ended. The
/// server sends from its spool at the speed at which it is read here, so a run never waits for its viewers.
class ServerRuns final : public LiveRuns {
 public:
  /// @throws Error{unavailable} when nobody answers at the address
  explicit ServerRuns(const rpc::Endpoint& endpoint);

  [[nodiscard]] std::string source() const override { return peer_; }
  [[nodiscard]] std::vector<LiveRunEntry> list() override;
  [[nodiscard]] std::shared_ptr<LiveRun> find(const std::string& id) override;
  [[nodiscard]] bool can_cancel() const override { return true; }
  void cancel(const std::string& id) override;

 private:
  struct FollowedRun {
    std::shared_ptr<LiveRun> run;
    std::chrono::steady_clock::time_point asked;
    std::jthread thread;
  };
  void follow(const std::string& id, LiveRun& run, const std::stop_token& stop);
  std::shared_ptr<LiveRun> start_following_locked(const std::string& id);
  void follow_new_runs_locked(const std::vector<LiveRunEntry>& listed);
  void stop_unwatched_locked();

  std::string peer_;
  SimulationClient client_;
  std::mutex mutex_;  ///< guards what follows
  std::map<std::string, FollowedRun> followed_;
  std::set<std::string> listed_;  ///< runs of the last list: what is not among them is new
};

}  // namespace heelstrike::client
