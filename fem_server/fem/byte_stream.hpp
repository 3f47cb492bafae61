/// Values as bytes, for messages between processes of the same program.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

/// Appends values in the order of the calls.
class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  /// @tparam Values  contiguous, of a trivially copyable type
  template <class Values>
  void put_all(const Values& values) {
    using T = typename Values::value_type;
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads them back. @throws Error{internal} for bytes that end too early
class ByteReader {
 public:
  /// @param bytes  must outlive this object
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T get() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  template <class T>
  [[nodiscard]] std::vector<T> get_all() {
    const auto n = get<std::uint64_t>();
    if (n > rest_.size() / sizeof(T)) fail();
    std::vector<T> values(n);
    if (n > 0) std::memcpy(static_cast<void*>(values.data()), next(n * sizeof(T)).data(), n * sizeof(T));
    return values;
  }
  [[nodiscard]] std::string get_text() {
    const auto n = get<std::uint64_t>();
    return std::string(next(n));
  }

 private:
  [[noreturn]] static void fail() { throw Error(ErrorCode::internal, "a message between processes is incomplete"); }
  std::string_view next(std::size_t n) {
    if (n > rest_.size()) fail();
    const std::string_view part = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return part;
  }

  std::string_view rest_;
};

}  // namespace heelstrike::fem
