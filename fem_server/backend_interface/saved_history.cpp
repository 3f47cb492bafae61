#include "fem_server/backend_interface/saved_history.hpp"

#include <fmt/format.h>
#include <bit>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

void StateWriter::put(std::uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

void StateWriter::put(double value) {
  put(std::bit_cast<std::uint64_t>(value));
}

void StateWriter::put(std::string_view text) {
  put(static_cast<std::uint64_t>(text.size()));
  bytes_ += text;
}

StateReader::StateReader(std::string_view bytes, std::string what) : rest_(bytes), what_(std::move(what)) {}

std::string_view StateReader::next(std::uint64_t count) {
  if (count > rest_.size()) {
    throw input_error("state",
                      fmt::format("{}: expected {} more bytes, found {}; the bytes are truncated or are not a saved "
                                  "state",
                                  what_, count, rest_.size()));
  }
  const std::string_view part = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return part;
}

std::uint64_t StateReader::integer() {
  const std::string_view part = next(8);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(part[i])) << (8 * i);
  }
  return value;
}

std::size_t StateReader::count(std::uint64_t /*before*/) {
  const std::uint64_t n = integer();
  require(n <= rest_.size() / 8, "a count that the bytes can hold");
  return n;
}

void StateReader::require(bool valid, std::string_view expected) const {
  if (valid) return;
  throw input_error("state", fmt::format("{}: expected {} {} bytes before the end; these bytes are "
                                         "damaged or are not a saved state",
                                         what_, expected, rest_.size()));
}

void StateReader::label(std::string_view name, std::string_view expected) {
  const std::string_view found = next(integer());
  if (found == expected) return;
  // Foreign bytes may be arbitrary: show at most a readable length.
  throw input_error("state",
                    fmt::format("{}: expected {} '{}', found '{}'; restore a state saved by a session opened from "
                                "the same specification",
                                what_, name, expected, found.substr(0, 64)));
}

void StateReader::finish() const {
  if (!rest_.empty()) {
    throw input_error("state", fmt::format("{}: {} bytes remain after the end; these bytes are not a saved state",
                                           what_, rest_.size()));
  }
}

}  // namespace heelstrike::fem
