#include "rpc/server/upload_call.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "rpc/transport_settings.hpp"

namespace heelstrike::rpc {

namespace {

/// An upload that stands still for so long is given up: what it has sent takes memory.
constexpr std::chrono::milliseconds max_pause{60'000};

std::unique_ptr<StreamSlots::Slot> acquire_slot(StreamSlots& places, grpc::ServerContext& context,
                                              const std::string& account) {
  auto place = places.take(account, [&context] { context.TryCancel(); });
  if (place) return place;
  throw Error(ErrorCode::limit,
              fmt::format("{} uploads are under way, half of them of one client, which is all that this server takes; "
                          "try again when others have ended",
                          max_uploads),
              "upload", true);
}

}  // namespace

UploadCall::UploadCall(CallWatch& watch, StreamSlots& places, UploadBudget& budget, grpc::ServerContext& context,
                       const std::string& account)
    : place_(location_of(places, context, account)), call_(watch, context, handshake_timeout), share_(budget, account) {}

void UploadCall::begun() {
  call_.record_progress(max_pause);
  place_->begin_work();
}

void UploadCall::take(std::size_t bytes) {
  call_.record_progress();
  share_.take(bytes);
}

}  // namespace heelstrike::rpc
