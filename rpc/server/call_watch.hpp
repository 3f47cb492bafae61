/// Lets the handlers of a server hear that nobody waits for their answer any more.
///
/// gRPC tells a synchronous handler nothing: it has to ask. One thread asks for all of them.
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
  /// One call, for as long as its handler works on it.
  class Call {
   public:
    /// @param stall  a call that does not call `moved` for so long is cancelled; 0 = it may take its time
    Call(CallWatch& watch, grpc::ServerContextBase& context, std::chrono::milliseconds stall = {});
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Stops soon after the client has cancelled the call or gone away, and when the server stops.
    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
    /// Something has arrived.
    void record_progress();
    /// Moves, and may stand still for so long from now on.
    void record_progress(std::chrono::milliseconds stall);

   private:
    friend class CallWatch;
    CallWatch& watch_;
    grpc::ServerContextBase& context_;
    std::chrono::milliseconds stall_;  ///< guarded by the watch's mutex, as the next
    std::chrono::steady_clock::time_point last_progress_;
    std::stop_source stop_;
  };

  CallWatch();
  /// Every call in progress and every later one is told to stop.
  void stop_all();

 private:
  void poll_calls(const std::stop_token& ended);
  void poll_locked(Call& call);

  std::mutex mutex_;  ///< guards what follows
  std::condition_variable_any changed_;
  std::set<Call*> calls_;
  bool stopping_ = false;
  std::jthread thread_;  ///< last member: it uses the others
};

}  // namespace heelstrike::rpc
