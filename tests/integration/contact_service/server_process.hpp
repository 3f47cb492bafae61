/// The real fem_server binary as a child process, in a private folder removed with it.
#pragma once

#include <grpcpp/channel.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/remote_contact.hpp"

namespace heelstrike::testing_support {

/// A folder below the temporary folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

class ServerProcess {
 public:
  /// Starts the server and waits for its ready line (30 s at most).
  /// @param arguments  after the ones for listening; `listen` empty = one port on the loopback and one Unix socket
  explicit ServerProcess(std::vector<std::string> arguments = {}, std::vector<std::string> listen = {});
  /// Ends the server in order and expects exit code 0, unless it was killed or waited for.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  [[nodiscard]] const std::string& address(std::size_t i = 0) const { return addresses_.at(i); }
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  void signal(int number);
  /// SIGSTOP; returns when the process is stopped. SIGCONT resumes it.
  void freeze() const;
  /// Exit code, or 128 + signal. Fails the test after 30 s.
  /// @param nudge  signal that is sent every 5 ms until the end; 0 = none
  int wait(int nudge = 0);
  [[nodiscard]] std::string log() const;
  /// Waits until the log has the text; false after 20 s.
  [[nodiscard]] bool wait_for_log(const std::string& text) const;
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

  [[nodiscard]] std::unique_ptr<v1::ContactService::Stub> stub(std::size_t i = 0) const;

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  bool killed_ = false;
  std::vector<std::string> addresses_;
};

/// Runs the server to its end: a start that is expected to fail.
struct Finished {
  int exit_code;
  std::string output;  ///< stdout and stderr
};
Finished run_server(const std::vector<std::string>& arguments);

/// A sphere of 0.1 m above a plane, with restitution: has a history.
PairSpec ball_on_ground(const std::string& name = "ball-ground");
/// The sphere's centre `height` [m] above the plane, moving down with `speed` [m/s].
PairState ball_at(double t, double height, double speed);
v1::PairSpec message_of(const PairSpec& spec);
v1::PairState message_of(const PairState& state);

/// Reads the stream to its end. @throws the peer's Error
v1::SessionDescription open_session(v1::ContactService::Stub& stub, const PairSpec& spec = ball_on_ground());
v1::SessionDescription open_session(v1::ContactService::Stub& stub, const v1::OpenSessionRequest& request);
/// A batch of one state; a failed call is returned as the error of the response.
v1::PairResponse evaluate_one(v1::ContactService::Stub& stub, const v1::PairRequest& request);

/// A remote contact with one ball.
std::unique_ptr<Contact> open_contact(rpc::RemoteContactOptions options);
std::unique_ptr<Contact> open_contact(const std::string& address);

/// All bits of a response, for comparison.
std::string bits(const Response& response);
/// A bounce of `n_steps` with evaluations and commits; the bits of all responses.
std::string bounce(Contact& contact, int n_steps);

}  // namespace heelstrike::testing_support
