/// The root functions for locating onset and separation of contacts, and the end of sliding.
#pragma once

#include <cstddef>

namespace heelstrike::mbs {

struct ContactRoot {
  enum class Kind {
    gap,       ///< for a closed pair: the gap minus its rounding error
    gap_rate,  ///< for an open pair, to detect a contact that begins and ends within one step; else 1
    slip       ///< Response::slip_speed of a closed pair that slid at the last commit; else 1
  };
  static constexpr int per_pair = 3;

  std::size_t pair = 0;
  Kind kind = Kind::gap;

  [[nodiscard]] bool operator==(const ContactRoot&) const = default;
  /// Index among the root functions of the integrator.
  [[nodiscard]] int index() const { return per_pair * static_cast<int>(pair) + static_cast<int>(kind); }
  [[nodiscard]] static ContactRoot at(int index) {
    return {.pair = static_cast<std::size_t>(index / per_pair), .kind = static_cast<Kind>(index % per_pair)};
  }
};

}  // namespace heelstrike::mbs
