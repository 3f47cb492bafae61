/// Saved state as bytes: little-endian numbers and texts with their length, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heelstrike::fem {

class StateWriter {
 public:
  void put(std::uint64_t value);
  void put(std::int64_t value) { put(static_cast<std::uint64_t>(value)); }
  void put(double value);
  void put(std::string_view text);

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what StateWriter wrote. Every function throws Error{invalid_input} when the bytes end too early.
class StateReader {
 public:
  /// @param what  for messages, e.g. "saved state of back-end flores"
  StateReader(std::string_view bytes, std::string what);

  [[nodiscard]] std::uint64_t integer();
  [[nodiscard]] double number();
  [[nodiscard]] std::string_view text();
  /// @throws Error{invalid_input} unless the next text is `expected`; `name` says what it is
  void expect(std::string_view name, std::string_view expected);
  /// @throws Error{invalid_input} when bytes are left over
  void finish() const;

 private:
  [[nodiscard]] std::string_view next(std::uint64_t count);

  std::string_view rest_;
  std::string what_;
};

}  // namespace heelstrike::fem
