/// Shared preparation: of the sessions that need the same product, one makes it and the others wait for a copy.
#pragma once

#include <any>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace heelstrike::fem {

/// Thread-safe; one for all sessions of a process.
class PreparationLocks {
 public:
  /// The product of `make`, or a copy of the product that another thread made for the same key while this one waited.
  /// If the other thread fails or is cancelled, the next one makes it. Nothing is stored once no thread waits.
  /// @tparam T  copyable, the same for one key
  /// @throws Error{cancelled} when `stop` is requested while waiting; what `make` throws
  template <class T>
  [[nodiscard]] T once(const std::string& key, const std::stop_token& stop, const std::function<T()>& make) {
    if (const auto handed = acquire(key, stop)) return std::any_cast<const T&>(*handed);
    std::optional<T> product;
    try {
      product.emplace(make());
    } catch (...) {
      release(key, {});
      throw;
    }
    release(key, [&] { return std::make_shared<const std::any>(*product); });
    return std::move(*product);
  }

  /// Number of threads that wait for a product in preparation, for tests; not those that are about to receive theirs.
  [[nodiscard]] std::size_t n_waiting() const;

 private:
  using Product = std::shared_ptr<const std::any>;
  struct Entry {
    bool locked = false;
    std::size_t n_waiting = 0;
    Product product;  ///< for waiting threads
  };
  /// @return the product of another thread, or null: the key is then locked by this thread
  [[nodiscard]] Product acquire(const std::string& key, const std::stop_token& stop);
  /// @param copy  makes the copy for waiting threads; empty: there is no product
  void release(const std::string& key, const std::function<Product()>& copy);

  mutable std::mutex mutex_;
  std::condition_variable_any released_;
  std::map<std::string, Entry> entries_;
};

/// As PreparationLocks::once. @param locks  null = no concurrent preparation
template <class T>
[[nodiscard]] T prepare_once(PreparationLocks* locks, const std::string& key, const std::stop_token& stop,
                             const std::function<T()>& make) {
  return locks == nullptr ? make() : locks->once<T>(key, stop, make);
}

}  // namespace heelstrike::fem
