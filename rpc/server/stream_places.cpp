#include "rpc/server/stream_places.hpp"

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

StreamPlaces::StreamPlaces(StreamLimits limits) : limits_(with_share(limits)) {}

StreamPlaces::Place::~Place() {
  const std::scoped_lock lock(places_.mutex_);
  places_.places_.remove(this);
}

std::size_t StreamPlaces::count_locked(const std::string* account) const {
  return static_cast<std::size_t>(std::ranges::count_if(places_, [account](const Place* place) {
    return !place->closed_ && (account == nullptr || place->account_ == *account);
  }));
}

StreamPlaces::Place* StreamPlaces::least_missed_locked(const std::string* account) const {
  const auto now = Clock::now();
  Place* least = nullptr;
  const auto rank = [now](const Place& place) { return std::tuple(!place.holds_session_.load(), place.idle(now)); };
  for (Place* place : places_) {
    if (!place->may_go() || (account != nullptr && place->account_ != *account)) continue;
    if (place->holds_session_.load() && place->idle(now) < limits_.gives_way) continue;
    if (least == nullptr || rank(*place) > rank(*least)) least = place;
  }
  return least;
}

void StreamPlaces::close_locked(Place& place) {
  place.closed_ = true;
  place.close_();
}

std::unique_ptr<StreamPlaces::Place> StreamPlaces::take(const std::string& account, Close close) {
  const std::scoped_lock lock(mutex_);
  const bool own_are_taken = count_locked(&account) >= limits_.max_per_client;
  if (own_are_taken || count_locked(nullptr) >= limits_.max_streams) {
    Place* least = least_missed_locked(own_are_taken ? &account : nullptr);
    if (least == nullptr) return nullptr;
    close_locked(*least);
  }
  std::unique_ptr<Place> place(new Place(*this, account, std::move(close)));
  places_.push_back(place.get());
  return place;
}

void StreamPlaces::close_idle() {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  for (Place* place : places_) {
    const auto most = place->holds_session_.load() ? limits_.idle : std::min(limits_.unused, limits_.idle);
    if (place->may_go() && place->idle(now) >= most) close_locked(*place);
  }
}

StreamPlaces::Count StreamPlaces::all() const {
  const std::scoped_lock lock(mutex_);
  return {.used = count_locked(nullptr), .limit = limits_.max_streams};
}

StreamPlaces::Count StreamPlaces::of_client(const std::string& account) const {
  const std::scoped_lock lock(mutex_);
  return {.used = count_locked(&account), .limit = limits_.max_per_client};
}

}  // namespace heelstrike::rpc
