/// The root functions by which an integrator finds where contacts begin and end, and slides come to their end.
#pragma once

#include <cstddef>

namespace heelstrike::mbs {

struct ContactRoot {
  enum class Kind {
    gap,       ///< of a closed pair it is what the gap exceeds its rounding by
    gap_rate,  ///< while the pair is open, so that a touch that begins and ends within one step is not missed; else 1
    slip       ///< Response::slip_speed of a closed pair that slid at the last commit; else 1
  };
  static constexpr int per_pair = 3;

  std::size_t pair = 0;
  Kind kind = Kind::gap;

  [[nodiscard]] bool operator==(const ContactRoot&) const = default;
  /// Place among the root functions of the integrator.
  [[nodiscard]] int index() const { return per_pair * static_cast<int>(pair) + static_cast<int>(kind); }
  [[nodiscard]] static ContactRoot at(int index) {
    return {.pair = static_cast<std::size_t>(index / per_pair), .kind = static_cast<Kind>(index % per_pair)};
  }
};

}  // namespace heelstrike::mbs
