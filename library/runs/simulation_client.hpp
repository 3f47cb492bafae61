/// Calls of the multibody server, as typed functions with deadlines.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "library/runs/run_request.hpp"
#include "rpc/channel.hpp"
#include "heelstrike/v1/simulation.grpc.pb.h"

namespace heelstrike {

class SimulationClient {
 public:
  /// Connects. @throws Error{unavailable} when nobody answers at the address within rpc::default_connect_timeout
  /// @param peer  "mbs_server at ADDRESS", for messages
  SimulationClient(const rpc::Endpoint& endpoint, std::string peer);

  /// Waits for a lost connection to come back. @returns false when it has not within `time`
  bool wait_for_connection(std::chrono::milliseconds time);
  /// @param patience  with a connection that is lost meanwhile
  /// @throws Error{unavailable}, Error{deadline}
  [[nodiscard]] v1::VersionInfo version(std::chrono::milliseconds reconnect_timeout);
  /// Sends the scenario with its files. The run's identifier is chosen here, so that a submission whose answer was lost
  /// can be repeated, and is, for `patience`. @returns the identifier. @throws Error as the server answers
  std::string submit(const RunRequest& request, std::chrono::milliseconds reconnect_timeout);
  /// What was submitted under this identifier: text, name, files and checkpoint. @throws Error{not_found}
  [[nodiscard]] RunRequest input(const std::string& run_id);
  /// Hands every event after `after` to `on_event` until the last one.
  /// @param stop  asks the server to cancel the run; what it still sends is handed on
  /// @throws Error{unavailable} when the stream breaks, when it ends without the last event, or when the server does
  /// not
  ///         end a cancelled run in time; and whatever `on_event` throws
  void watch(const std::string& run_id, std::uint64_t after, const std::function<void(const v1::RunEvent&)>& on_event,
             std::stop_token stop);
  /// As watch, for somebody who only looks: `stop` ends the call and leaves the run alone; rows come four times a
  /// second and thinned, extremes kept.
  /// @throws Error{unavailable} when the stream breaks, Error{not_found}, and whatever `on_event` throws
  void follow(const std::string& run_id, std::uint64_t after, const std::function<void(const v1::RunEvent&)>& on_event,
              const std::stop_token& stop);
  /// All runs the server knows, by identifier. @throws Error{unavailable}
  [[nodiscard]] std::vector<v1::RunStatus> list();
  void cancel(const std::string& run_id);
  void forget(const std::string& run_id);

 private:
  static void send(const RunRequest& request, const std::string& run_id,
                   grpc::ClientWriter<v1::SubmitRunRequest>& writer);
  void read_all(grpc::ClientContext& context, grpc::ClientReader<v1::RunEvent>& reader,
                const std::function<void(const v1::RunEvent&)>& on_event);

  std::string peer_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SimulationService::Stub> stub_;
};

}  // namespace heelstrike
