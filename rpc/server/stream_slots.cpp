#include "rpc/server/stream_slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/errors/error.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::rpc {

namespace {

StreamLimits with_share(StreamLimits limits) {
  if (limits.max_per_client == 0) limits.max_per_client = (limits.max_streams + 1) / 2;
  return limits;
}

}  // namespace

StreamSlots::StreamSlots(StreamLimits limits) : limits_(with_share(limits)) {}

StreamSlots::Slot::~Slot() {
  const std::scoped_lock lock(slots_.mutex_);
  slots_.slots_.remove(this);
}

std::size_t StreamSlots::count_locked(const std::string* account) const {
  return static_cast<std::size_t>(std::ranges::count_if(slots_, [account](const Slot* slot) {
    return !slot->closed_ && (account == nullptr || slot->account_ == *account);
  }));
}

StreamSlots::Slot* StreamSlots::find_preemptible_locked(const std::string* account) const {
  const auto now = Clock::now();
  Slot* least = nullptr;
  const auto rank = [now](const Slot& slot) { return std::tuple(!slot.has_session_.load(), slot.idle(now)); };
  for (Slot* slot : slots_) {
    if (!slot->is_preemptible() || (account != nullptr && slot->account_ != *account)) continue;
    if (slot->has_session_.load() && slot->idle(now) < limits_.inactivity_limit) continue;
    if (least == nullptr || rank(*slot) > rank(*least)) least = slot;
  }
  return least;
}

void StreamSlots::close_locked(Slot& slot) {
  slot.closed_ = true;
  slot.close_();
}

std::unique_ptr<StreamSlots::Slot> StreamSlots::acquire(const std::string& account, Close close) {
  const std::scoped_lock lock(mutex_);
  const bool is_client_limit_reached = count_locked(&account) >= limits_.max_per_client;
  if (is_client_limit_reached || count_locked(nullptr) >= limits_.max_streams) {
    Slot* least = find_preemptible_locked(is_client_limit_reached ? &account : nullptr);
    if (least == nullptr) return nullptr;
    close_locked(*least);
  }
  std::unique_ptr<Slot> slot(new Slot(*this, account, std::move(close)));
  slots_.push_back(slot.get());
  return slot;
}

void StreamSlots::close_idle() {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  for (Slot* slot : slots_) {
    const auto most = slot->has_session_.load() ? limits_.idle : std::min(limits_.unused, limits_.idle);
    if (slot->is_preemptible() && slot->idle(now) >= most) close_locked(*slot);
  }
}

StreamSlots::Count StreamSlots::all() const {
  const std::scoped_lock lock(mutex_);
  return {.used = count_locked(nullptr), .limit = limits_.max_streams};
}

StreamSlots::Count StreamSlots::of_client(const std::string& account) const {
  const std::scoped_lock lock(mutex_);
  return {.used = count_locked(&account), .limit = limits_.max_per_client};
}

UploadBudget::Share::~Share() {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.used_ -= bytes_;
  const auto own = budget_.used_per_account_.find(account_);
  if (own != budget_.used_per_account_.end() && (own->second -= bytes_) == 0) budget_.used_per_account_.erase(own);
}

void UploadBudget::Share::reserve(std::size_t bytes) {
  const std::scoped_lock lock(budget_.mutex_);
  std::size_t& own = budget_.used_per_account_[account_];
  const bool is_client_limit_reached = own + bytes > budget_.per_client_;
  if (is_client_limit_reached || budget_.used_ + bytes > budget_.total_) {
    if (own == 0) budget_.used_per_account_.erase(account_);
    throw Error(ErrorCode::limit,
                fmt::format("unfinished uploads {} would exceed {} MiB of memory of this server together; try again "
                            "after other uploads, or raise --max-upload-mib",
                            is_client_limit_reached ? "of this client" : "of all clients",
                            (is_client_limit_reached ? budget_.per_client_ : budget_.total_) >> 20U),
                "upload", true);
  }
  own += bytes;
  budget_.used_ += bytes;
  bytes_ += bytes;
}

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

StreamLimits upload_limits() {
  return {.max_streams = max_uploads, .inactivity_limit = std::chrono::milliseconds(5'000)};
}

UploadCall::UploadCall(CallWatch& watch, StreamSlots& slots, UploadBudget& budget, grpc::ServerContext& context,
                       const std::string& account)
    : slot_(acquire_slot(slots, context, account)), call_(watch, context, handshake_timeout), share_(budget, account) {}

void UploadCall::begun() {
  call_.record_progress(max_pause);
  // From now on the slot is preemptible after a pause only, as that of an Exchange call with sessions.
  slot_->set_has_session(true);
  slot_->end_work();
}

void UploadCall::reserve(std::size_t bytes) {
  call_.record_progress();
  slot_->end_work();
  share_.reserve(bytes);
}

}  // namespace heelstrike::rpc
