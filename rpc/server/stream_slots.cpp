#include "rpc/server/stream_slots.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

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

}  // namespace heelstrike::rpc
