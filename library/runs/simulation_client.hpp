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

#include "heelstrike/v1/simulation.grpc.pb.h"
#include "library/runs/run_request.hpp"
#include "rpc/channel.hpp"

namespace heelstrike {

class SimulationClient {
 public:
  /// Connects. @throws Error{unavailable} when the address does not respond within rpc::default_connect_timeout
  /// @param peer  "mbs_server at ADDRESS", for messages
  SimulationClient(const rpc::Endpoint& endpoint, std::string peer);

  /// Waits for the connection to be restored. @returns false when it is not restored within `time`
  bool wait_for_connection(std::chrono::milliseconds time);
  /// @param reconnect_timeout  for a connection that is lost during the call
  /// @throws Error{unavailable}, Error{deadline}
  [[nodiscard]] v1::VersionInfo version(std::chrono::milliseconds reconnect_timeout);
  /// Sends the scenario with its files. The run identifier is chosen by the client, so that a submission whose response
  /// was lost can be repeated, which is done for `reconnect_timeout`. @returns the identifier. @throws Error of the
  /// server
  std::string submit(const RunRequest& request, std::chrono::milliseconds reconnect_timeout);
  /// The submission with this identifier: text, name, files and checkpoint. @throws Error{not_found}
  [[nodiscard]] RunRequest input(const std::string& run_id);
  /// What a stop of `watch` does: the server cancels the run, and its remaining events are still passed on; or the run
  /// continues without this client.
  enum class AtStop { cancel, leave };
  /// Passes every event after `after` to `on_event` until the last one.
  /// @throws Error{unavailable} when the stream breaks, when it ends without the last event, or when the server does
  /// not end a cancelled run in time; and exceptions of `on_event`
  void watch(const std::string& run_id, std::uint64_t after, const std::function<void(const v1::RunEvent&)>& on_event,
             std::stop_token stop, AtStop at_stop = AtStop::cancel);
  /// As watch, for observers: `stop` ends the call without affecting the run; rows arrive four times a second and
  /// thinned, with extremes kept.
  /// @throws Error{unavailable} when the stream breaks, Error{not_found}, and exceptions of `on_event`
  void follow(const std::string& run_id, std::uint64_t after, const std::function<void(const v1::RunEvent&)>& on_event,
              const std::stop_token& stop);
  /// All runs on the server, by identifier. @throws Error{unavailable}
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
