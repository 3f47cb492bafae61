/// Detection of cancelled calls for the handlers of a server.
///
/// gRPC does not notify a synchronous handler of cancellation; one thread polls for all of them.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

namespace heelstrike::rpc {

/// Thread-safe.
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

}  // namespace heelstrike::rpc
