#include "fem_server/backend_interface/preparation_locks.hpp"

#include <new>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

PreparationLocks::Product PreparationLocks::acquire(const std::string& key, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[key];
  ++entry.n_waiting;
  const bool is_free = released_.wait(lock, stop, [&] { return !entry.locked; });
  --entry.n_waiting;
  Product product = is_free ? entry.product : nullptr;
  if (is_free && !product) {
    entry.locked = true;
  } else if (!entry.locked && entry.n_waiting == 0) {
    entries_.erase(key);
  }
  if (!is_free) throw Error(ErrorCode::cancelled, "stopped while waiting for the same preparation of another session");
  return product;
}

void PreparationLocks::release(const std::string& key, const std::function<Product()>& copy) {
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_.at(key);
    entry.locked = false;
    // Copied under the lock: a later thread finds either the locked key or the product.
    if (copy && entry.n_waiting > 0) {
      try {
        entry.product = copy();
      } catch (const std::bad_alloc&) {
        // Out of memory for a copy: the next thread makes its own product, or reports the failure.
      }
    }
    if (entry.n_waiting == 0) entries_.erase(key);
  }
  released_.notify_all();
}

std::size_t PreparationLocks::n_waiting() const {
  const std::scoped_lock lock(mutex_);
  std::size_t n = 0;
  for (const auto& [key, entry] : entries_) n += entry.locked ? entry.n_waiting : 0;
  return n;
}

}  // namespace heelstrike::fem
