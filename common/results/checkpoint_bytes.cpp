#include "common/results/checkpoint_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

/// Each part follows its length; the number in the mark is the format version.
constexpr std::string_view mark = "heelstrike state 1\n";

template <typename T>
std::string_view raw(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

void put(std::string& bytes, std::string_view part) {
  const std::uint64_t size = part.size();
  bytes.append(raw(std::span(&size, 1))).append(part);
}

/// Empty = invalid.
std::vector<std::string_view> parts_of(std::string_view bytes) {
  std::vector<std::string_view> parts;
  while (!bytes.empty()) {
    std::uint64_t size = 0;
    if (bytes.size() < sizeof size) return {};
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (bytes.size() < size) return {};
    parts.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return parts;
}

template <typename T>
bool read_numbers(std::string_view part, std::span<T> numbers) {
  if (part.size() != numbers.size_bytes()) return false;
  std::ranges::copy(part, reinterpret_cast<char*>(numbers.data()));
  return true;
}

}  // namespace

std::string checkpoint_bytes(const Checkpoint& checkpoint) {
  std::string bytes(mark);
  put(bytes, checkpoint.scenario_digest);
  put(bytes, raw(std::span(&checkpoint.step, 1)));
  put(bytes, raw(std::span(&checkpoint.time, 1)));
  put(bytes, raw(std::span(checkpoint.state)));
  put(bytes, checkpoint.engine);
  for (const std::string& contact : checkpoint.contact_states) put(bytes, contact);
  return bytes;
}

Checkpoint checkpoint_from(std::string_view bytes, const std::string& field) {
  const auto parts = bytes.starts_with(mark) ? parts_of(bytes.substr(mark.size())) : std::vector<std::string_view>();
  Checkpoint checkpoint;
  constexpr std::size_t fixed = 5;
  if (parts.size() >= fixed && parts[3].size() % sizeof(double) == 0) {
    checkpoint.state.resize(parts[3].size() / sizeof(double));
    const bool valid = read_numbers(parts[1], std::span(&checkpoint.step, 1)) &&
                       read_numbers(parts[2], std::span(&checkpoint.time, 1)) &&
                       read_numbers(parts[3], std::span(checkpoint.state));
    if (valid) {
      checkpoint.scenario_digest = parts[0];
      checkpoint.engine = parts[4];
      checkpoint.contact_states.assign(parts.begin() + fixed, parts.end());
      return checkpoint;
    }
  }
  throw input_error(field,
                    fmt::format("{}: expected the bytes of a saved state, found {} other bytes", field, bytes.size()));
}

}  // namespace heelstrike
