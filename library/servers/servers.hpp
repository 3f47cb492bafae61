/// The servers of one invocation: running ones that the user named, or a private pair started for the occasion.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "library/servers/supervised_server.hpp"
#include "library/servers/private_folder.hpp"
#include "rpc/channel.hpp"

namespace heelstrike {

struct ServerOptions {
  std::string mbs;     ///< address of a running mbs_server; empty = start one
  std::string fem;     ///< address of a running fem_server; empty = start one
  rpc::ClientTls tls;  ///< for the named addresses; private servers talk over Unix sockets without it
  /// How long a lost connection to a named server is tried again. A private one that dies is started anew.
  std::chrono::milliseconds reconnect_timeout = rpc::default_reconnect_timeout;
};

/// Without addresses both servers are started, with `fem` alone only the multibody server, else none. What was started
/// dies unasked is started anew at its address, with its spool; all is ended and removed with this object.
class Servers {
 public:
  /// @param log  where started servers write what they have to say; empty = beside their sockets
  /// @throws Error{file} when a server cannot be started, Error{unavailable}, Error{deadline} with the end of its log
  /// when
  ///         it does not become ready
  Servers(const ServerOptions& options, std::filesystem::path log);
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;
  ~Servers();

  [[nodiscard]] const rpc::Endpoint& mbs() const { return mbs_; }
  /// The contact server, when it is known here: with `mbs` alone only that server knows it.
  [[nodiscard]] const std::optional<rpc::Endpoint>& fem() const { return fem_; }
  /// "mbs_server at unix:/...": for messages.
  [[nodiscard]] std::string mbs_text() const;

  /// The multibody server was started here, so that its spool can be read.
  [[nodiscard]] bool owns_mbs() const { return mbs_child_ != nullptr; }
  /// Both servers were started here.
  [[nodiscard]] bool owns_all() const { return mbs_child_ != nullptr && fem_child_ != nullptr; }
  /// How long a lost connection to the multibody server is tried again.
  [[nodiscard]] static std::chrono::milliseconds reconnect_timeout(const ServerOptions& options);
  /// Event file of a run of the own multibody server.
  [[nodiscard]] std::filesystem::path event_file(const std::string& run_id) const;

  /// What has happened to started servers since the last call, sentence by sentence: deaths, and that they were started
  /// anew.
  [[nodiscard]] std::vector<std::string> take_messages_since();
  /// The run has got further than ever before.
  void reset_failed_restarts();
  /// Why a started server is not started again; none as long as all are kept. The others have been ended then.
  [[nodiscard]] std::optional<std::string> restart_failure() const;

 private:
  void start_fem();
  void start_mbs(const ServerOptions& options);
  void wait_until_ready();
  void add_message(const std::string& sentence, bool last);
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

}  // namespace heelstrike
