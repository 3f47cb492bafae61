#include "fem_server/backends/preparation_locks.hpp"

#include "common/errors/error.hpp"

namespace heelstrike::fem {

PreparationLocks::Hold::~Hold() {
  {
    const std::scoped_lock lock(locks_.mutex_);
    locks_.held_.erase(key_);
  }
  locks_.released_.notify_all();
}

PreparationLocks::Hold PreparationLocks::acquire(const std::string& key, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!released_.wait(lock, stop, [&] { return !held_.contains(key); })) {
    throw Error(ErrorCode::cancelled, "stopped while waiting for the same preparation of another session");
  }
  held_.insert(key);
  return {*this, key};
}

}  // namespace heelstrike::fem
