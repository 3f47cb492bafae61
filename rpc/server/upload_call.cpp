#include "rpc/server/upload_call.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "rpc/transport_settings.hpp"

namespace heelstrike::rpc {

namespace {

/// An upload that stands still for so long is given up: what it has sent takes memory.
constexpr std::chrono::milliseconds max_pause{60'000};

std::unique_ptr<StreamSlots::Slot> acquire_slot(StreamSlots& slots, grpc::ServerContext& context,
                                              const std::string& account) {
  auto slot = slots.acquire(account, [&context] { context.TryCancel(); });
  if (slot) return slot;
  throw Error(ErrorCode::limit,
              fmt::format("{} uploads are under way, half of them of one client, which is all that this server takes; "
                          "try again when others have ended",
                          max_uploads),
              "upload", true);
}

}  // namespace

UploadCall::UploadCall(CallWatch& watch, StreamSlots& slots, UploadBudget& budget, grpc::ServerContext& context,
                       const std::string& account)
    : slot_(location_of(slots, context, account)), call_(watch, context, handshake_timeout), share_(budget, account) {}

void UploadCall::begun() {
  call_.record_progress(max_pause);
  slot_->begin_work();
}

void UploadCall::acquire(std::size_t bytes) {
  call_.record_progress();
  share_.acquire(bytes);
}

}  // namespace heelstrike::rpc
