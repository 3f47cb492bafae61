/// The calls of a server's clients: detection of cancelled calls, identity of the client.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

namespace heelstrike::rpc {

/// Detects cancelled calls for their handlers: gRPC does not notify a synchronous handler of cancellation, and one
/// thread polls for all of them. Thread-safe.
class CallWatch {
 public:
  /// One call while its handler runs.
  class Call {
   public:
    /// @param stall  a call without `record_progress` for this time is cancelled; 0 = unlimited
    Call(CallWatch& watch, grpc::ServerContextBase& context, std::chrono::milliseconds stall = {});
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Requests a stop soon after the client has cancelled the call or disconnected, and when the server stops.
    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
    /// Data have arrived.
    void record_progress();
    /// Records progress and sets a new stall time.
    void record_progress(std::chrono::milliseconds stall);

   private:
    friend class CallWatch;
    CallWatch& watch_;
    grpc::ServerContextBase& context_;
    std::chrono::milliseconds stall_;  ///< guarded by the watch's mutex, like the next
    std::chrono::steady_clock::time_point last_progress_;
    std::stop_source stop_;
  };

  CallWatch();
  /// Requests a stop of every current and later call.
  void stop_all();

 private:
  void poll_calls(const std::stop_token& ended);
  void poll_locked(Call& call);

  std::mutex mutex_;  ///< guards the following members
  std::condition_variable_any changed_;
  std::set<Call*> calls_;
  bool stopping_ = false;
  std::jthread thread_;  ///< last member: it uses the others
};

struct ClientIdentity {
  /// Owner of runs and sessions: digest of subject and alternative names of the verified client certificate. A renewed
  /// certificate with the same names identifies the same client. Empty without mutual TLS: clients cannot be
  /// distinguished.
  std::string owner;
  /// Account of budgets: the owner, else the machine.
  std::string account;
};

[[nodiscard]] ClientIdentity identity_of(const grpc::ServerContextBase& context);

/// True if `client` may access objects of `owner`; objects created without a certificate are accessible to all.
[[nodiscard]] inline bool has_access(const std::string& owner, const ClientIdentity& client) {
  return owner.empty() || owner == client.owner;
}

}  // namespace heelstrike::rpc
