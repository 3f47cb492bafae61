/// One WatchRun call: sends the events of a log at the rate of its client.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "heelstrike/v1/simulation.pb.h"
#include "mbs_server/service/spool.hpp"
#include "rpc/server/stream_slots.hpp"

namespace heelstrike::mbs {

/// One of the counted slots for watchers.
struct WatcherSlot {
  std::shared_ptr<rpc::StreamSlots> all;
  std::unique_ptr<rpc::StreamSlots::Slot> own;
};

/// Owns itself; deletes itself in OnDone. Waits in a separate thread, on conditions only: for new events, for the
/// client to receive the previous one, or for its disconnection.
class WatchReactor : public grpc::ServerWriteReactor<v1::RunEvent> {
 public:
  /// @param context     of the call
  /// @param place  slot occupied during the call
  /// @throws Error{invalid_input} for invalid thinning, and for a watcher with more events than a finished run;
  /// Error{limit} when no thread is available
  WatchReactor(grpc::CallbackServerContext& context, std::shared_ptr<RunLog> log, const v1::WatchRunRequest& request,
               WatcherSlot place);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void serve();
  bool send();
  /// True if the watcher already has the last event of the run.
  [[nodiscard]] bool is_finished() const { return log_->closed() && after_ >= log_->last_sequence(); }

  grpc::CallbackServerContext* context_;  ///< valid until OnDone
  std::shared_ptr<RunLog> log_;
  std::uint64_t after_;
  WatcherSlot place_;
  RunLogReader reader_;
  v1::RunEvent event_;
  std::atomic<bool> cancelled_{false};  ///< the client disconnected or the call was cancelled
  std::mutex mutex_;                    ///< guards writing_ and synchronises the others
  std::condition_variable written_;
  bool writing_ = false;
  std::thread thread_;
};

}  // namespace heelstrike::mbs
