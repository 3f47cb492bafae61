#include "rpc/server/upload_call.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::rpc {

namespace {

/// An upload without progress for this time is cancelled, because its data occupy memory.
constexpr std::chrono::milliseconds max_pause{60'000};

std::unique_ptr<StreamSlots::Slot> acquire_slot(StreamSlots& slots, grpc::ServerContext& context,
                                                const std::string& account) {
  auto slot = slots.acquire(account, [&context] { context.TryCancel(); });
  if (slot) return slot;
  throw Error(ErrorCode::limit,
              fmt::format("{} uploads in total, or half of them by one client, are in progress, which is the limit of "
                          "this server; try again after other uploads",
                          max_uploads),
              "upload", true);
}

}  // namespace

UploadCall::UploadCall(CallWatch& watch, StreamSlots& slots, UploadBudget& budget, grpc::ServerContext& context,
                       const std::string& account)
    : slot_(acquire_slot(slots, context, account)), call_(watch, context, handshake_timeout), share_(budget, account) {}

void UploadCall::begun() {
  call_.record_progress(max_pause);
  slot_->begin_work();
}

void UploadCall::reserve(std::size_t bytes) {
  call_.record_progress();
  share_.reserve(bytes);
}

}  // namespace heelstrike::rpc
