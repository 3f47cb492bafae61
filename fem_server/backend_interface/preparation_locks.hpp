/// Two sessions that need the same product of a preparation: one makes it, the others wait and get a copy.
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
  /// The product of `make`, or a copy of what another thread made for the same key while this one waited. When the
  /// other gave up (cancelled, failed), the next one makes it. Nothing is kept once nobody waits.
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

  /// Threads that wait, for tests.
  [[nodiscard]] std::size_t n_waiting() const;

 private:
  using Product = std::shared_ptr<const std::any>;
  struct Entry {
    bool held = false;
    std::size_t n_waiting = 0;
    Product product;  ///< for those who wait
  };
  /// @return what another thread made, or null: then the key is held
  [[nodiscard]] Product acquire(const std::string& key, const std::stop_token& stop);
  /// @param copy  makes one for those who wait; empty: there is no product
  void release(const std::string& key, const std::function<Product()>& copy);

  mutable std::mutex mutex_;
  std::condition_variable_any released_;
  std::map<std::string, Entry> entries_;
};

/// As PreparationLocks::once. @param locks  null = nobody else prepares
template <class T>
[[nodiscard]] T prepare_once(PreparationLocks* locks, const std::string& key, const std::stop_token& stop,
                          const std::function<T()>& make) {
  return locks == nullptr ? make() : locks->once<T>(key, stop, make);
}

}  // namespace heelstrike::fem
