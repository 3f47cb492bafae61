/// A call that brings something in pieces: its place among all uploads, its share of their memory, its end when nothing
/// comes.
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "rpc/server/call_watch.hpp"
#include "rpc/server/stream_slots.hpp"
#include "rpc/server/upload_budget.hpp"

namespace heelstrike::rpc {

/// Uploads at a time: each occupies a thread. One without a header gives way when its place is wanted.
inline constexpr std::size_t max_uploads = 256;

class UploadCall {
 public:
  /// @throws Error{limit} when all places, or those of this client, are taken
  UploadCall(CallWatch& watch, StreamSlots& slots, UploadBudget& budget, grpc::ServerContext& context,
             const std::string& account);

  /// The header has arrived.
  void begun();
  /// A piece has arrived. @throws Error{limit} when there is no memory for it
  void take(std::size_t bytes);
  /// The client has gone, has been silent for too long, or the server stops.
  [[nodiscard]] bool stopped() const { return call_.token().stop_requested(); }

 private:
  std::unique_ptr<StreamSlots::Slot> slot_;
  CallWatch::Call call_;
  UploadBudget::Share share_;
};

}  // namespace heelstrike::rpc
