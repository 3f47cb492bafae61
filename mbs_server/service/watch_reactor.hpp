/// One WatchRun call: sends the events of a log at the speed of its client.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "heelstrike/v1/simulation.pb.h"
#include "mbs_server/service/run_log.hpp"

namespace heelstrike::mbs {

/// Owns itself; deletes itself when gRPC is done with it. Waits in a thread of its own, on conditions only: for new
/// events, for the client to take the previous one, or for the client to go away.
class WatchReactor : public grpc::ServerWriteReactor<v1::RunEvent> {
 public:
  /// @param context     of the call
  /// @param n_watchers  counts the calls that go on
  /// @throws Error{invalid_input} for a thinning that makes no sense
  WatchReactor(grpc::CallbackServerContext& context, std::shared_ptr<RunLog> log, const v1::WatchRunRequest& request,
               std::shared_ptr<std::atomic<unsigned>> n_watchers);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void serve();
  bool send();

  grpc::CallbackServerContext* context_;  ///< lives until OnDone
  std::shared_ptr<RunLog> log_;
  std::shared_ptr<std::atomic<unsigned>> n_watchers_;
  RunLogReader reader_;
  v1::RunEvent event_;
  std::atomic<bool> gone_{false};  ///< the client left or the call was cancelled
  std::mutex mutex_;               ///< guards writing_, hands the others over
  std::condition_variable written_;
  bool writing_ = false;
  std::thread thread_;
};

}  // namespace heelstrike::mbs
