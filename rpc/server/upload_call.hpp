/// An upload in pieces: its slot among all uploads, its share of their memory, its timeout.
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "rpc/server/call_watch.hpp"
#include "rpc/server/stream_slots.hpp"
#include "rpc/server/upload_budget.hpp"

namespace heelstrike::rpc {

/// Uploads at a time: each occupies a thread. One without a header is preempted if its slot is requested.
inline constexpr std::size_t max_uploads = 256;

class UploadCall {
 public:
  /// @throws Error{limit} if all slots, or those of this client, are occupied
  UploadCall(CallWatch& watch, StreamSlots& slots, UploadBudget& budget, grpc::ServerContext& context,
             const std::string& account);

  /// The header has arrived.
  void begun();
  /// A piece has arrived. @throws Error{limit} if it exceeds the memory budget
  void reserve(std::size_t bytes);
  /// True after a disconnect of the client, a timeout, or a stop of the server.
  [[nodiscard]] bool stopped() const { return call_.token().stop_requested(); }

 private:
  std::unique_ptr<StreamSlots::Slot> slot_;
  CallWatch::Call call_;
  UploadBudget::Share share_;
};

}  // namespace heelstrike::rpc
