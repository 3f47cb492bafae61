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
  const std::scoped_lock lock(places_.mutex_);
  places_.places_.remove(this);
}

std::size_t StreamSlots::count_locked(const std::string* account) const {
  return static_cast<std::size_t>(std::ranges::count_if(places_, [account](const Place* place) {
    return !place->closed_ && (account == nullptr || place->account_ == *account);
  }));
}

StreamSlots::Slot* StreamSlots::find_preemptible_locked(const std::string* account) const {
  const auto now = Clock::now();
  Place* least = nullptr;
  const auto rank = [now](const Place& place) { return std::tuple(!place.has_session_.load(), place.idle(now)); };
  for (Place* place : places_) {
    if (!place->is_preemptible() || (account != nullptr && place->account_ != *account)) continue;
    if (place->has_session_.load() && place->idle(now) < limits_.inactivity_limit) continue;
    if (least == nullptr || rank(*place) > rank(*least)) least = place;
  }
  return least;
}

void StreamSlots::close_locked(Place& place) {
  place.closed_ = true;
  place.close_();
}

std::unique_ptr<StreamSlots::Slot> StreamSlots::take(const std::string& account, Close close) {
  const std::scoped_lock lock(mutex_);
  const bool is_client_limit_reached = count_locked(&account) >= limits_.max_per_client;
  if (is_client_limit_reached || count_locked(nullptr) >= limits_.max_streams) {
    Place* least = find_preemptible_locked(is_client_limit_reached ? &account : nullptr);
    if (least == nullptr) return nullptr;
    close_locked(*least);
  }
  std::unique_ptr<Place> place(new Place(*this, account, std::move(close)));
  places_.push_back(place.get());
  return place;
}

void StreamSlots::close_idle() {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  for (Place* place : places_) {
    const auto most = place->has_session_.load() ? limits_.idle : std::min(limits_.unused, limits_.idle);
    if (place->is_preemptible() && place->idle(now) >= most) close_locked(*place);
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
