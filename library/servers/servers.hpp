/// The servers of one invocation: running ones that the user named, or a private pair that this program starts.
#pragma once

#include <grpcpp/channel.h>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "library/servers/private_folder.hpp"
#include "library/servers/supervised_server.hpp"
#include "rpc/channel.hpp"

namespace heelstrike {

struct ServerOptions {
  std::string mbs;     ///< address of a running mbs_server; empty = start one
  std::string fem;     ///< address of a running fem_server; empty = start one
  rpc::ClientTls tls;  ///< for the named addresses; private servers use Unix sockets without it
  /// Time for retries of a lost connection to a named server. A private server that fails is restarted.
  std::chrono::milliseconds reconnect_timeout = rpc::default_reconnect_timeout;
};

/// Without addresses both servers are started; with `fem` alone only the multibody server; else none. A started server
/// that fails is restarted at its address, with its spool; the destructor ends and removes all started servers.
class Servers {
 public:
  /// @param log  log files of started servers; empty = beside their sockets
  /// @throws Error{file} when a server cannot be started, Error{unavailable}, Error{deadline} with the end of its log
  /// when it does not become ready
  Servers(const ServerOptions& options, std::filesystem::path log);
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;
  ~Servers();

  [[nodiscard]] const rpc::Endpoint& mbs() const { return mbs_; }
  /// The contact server, if known to the client: with `mbs` alone only that server has its address.
  [[nodiscard]] const std::optional<rpc::Endpoint>& fem() const { return fem_; }
  /// "mbs_server at unix:/...": for messages.
  [[nodiscard]] std::string mbs_text() const;

  /// True when the multibody server was started by this program, so that its spool is readable.
  [[nodiscard]] bool owns_mbs() const { return mbs_child_ != nullptr; }
  /// True when both servers were started by this program.
  [[nodiscard]] bool owns_all() const { return mbs_child_ != nullptr && fem_child_ != nullptr; }
  /// Time for retries of a lost connection to the multibody server.
  [[nodiscard]] static std::chrono::milliseconds reconnect_timeout(const ServerOptions& options);
  /// Event file of a run of the private multibody server.
  [[nodiscard]] std::filesystem::path event_file(const std::string& run_id) const;

  /// Failures and restarts of started servers since the last call, one sentence each.
  [[nodiscard]] std::vector<std::string> take_messages_since();
  /// Resets the restart counters: the run has passed its earlier largest time.
  void reset_failed_restarts();
  /// Reason why a started server is not restarted; none while all are running. All other started servers are then
  /// ended.
  [[nodiscard]] std::optional<std::string> restart_failure() const;

 private:
  void start_fem();
  void start_mbs(const ServerOptions& options);
  void wait_until_ready();
  void add_message(const std::string& message, bool last);
  [[nodiscard]] std::string end_of_log() const;

  std::unique_ptr<PrivateFolder> folder_;
  std::filesystem::path log_;
  mutable std::mutex mutex_;  ///< guards messages_ and restart_failure_
  std::vector<std::string> messages_;
  std::optional<std::string> restart_failure_;
  std::atomic<bool> has_messages_{false};
  std::unique_ptr<SupervisedServer> fem_child_;
  std::unique_ptr<SupervisedServer> mbs_child_;
  rpc::Endpoint mbs_;
  std::optional<rpc::Endpoint> fem_;
};

// The standard health check (grpc.health.v1.Health/Check) of every gRPC server program of Heelstrike.

/// @param where  for messages, e.g. "fem_server at localhost:50051"
/// @throws Error{unavailable} when the server reports that it is not serving, or does not respond within 5 s
void check_health(const std::shared_ptr<grpc::Channel>& channel, const std::string& where);

}  // namespace heelstrike
