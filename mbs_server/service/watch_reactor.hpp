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
#include "rpc/server/stream_slots.hpp"

namespace heelstrike::mbs {

/// One of the places for watchers, which are counted as long as one of them is taken.
struct WatcherSlot {
  std::shared_ptr<rpc::StreamSlots> all;
  std::unique_ptr<rpc::StreamSlots::Slot> own;
};

/// Owns itself; deletes itself when gRPC is done with it. Waits in a thread of its own, on conditions only: for new
/// events, for the client to take the previous one, or for the client to go away.
class WatchReactor : public grpc::ServerWriteReactor<v1::RunEvent> {
 public:
  /// @param context     of the call
  /// @param place  taken by the call while it goes on
  /// @throws Error{invalid_input} for a thinning that makes no sense, and for a watcher that has more events than a run
  /// which has ended; Error{limit} when there is no thread for it
  WatchReactor(grpc::CallbackServerContext& context, std::shared_ptr<RunLog> log, const v1::WatchRunRequest& request,
               WatcherSlot place);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void serve();
  bool send();
  /// Its watcher had the last event of the run already.
  [[nodiscard]] bool is_finished() const { return log_->closed() && after_ >= log_->last_sequence(); }

  grpc::CallbackServerContext* context_;  ///< lives until OnDone
  std::shared_ptr<RunLog> log_;
  std::uint64_t after_;
  WatcherSlot place_;
  RunLogReader reader_;
  v1::RunEvent event_;
  std::atomic<bool> cancelled_{false};  ///< the client left or the call was cancelled
  std::mutex mutex_;                    ///< guards writing_, hands the others over
  std::condition_variable written_;
  bool writing_ = false;
  std::thread thread_;
};

}  // namespace heelstrike::mbs
