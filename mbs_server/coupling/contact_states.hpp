/// Open or closed state of the pairs, the discrete part of the state of a run, and the roots of their gaps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace heelstrike::mbs {

/// True if a pair with this gap [m] and gap rate [m/s] is in contact: at zero gap unless it opens.
[[nodiscard]] inline bool touching(double gap, double gap_rate) {
  return gap < 0.0 || (gap == 0.0 && gap_rate <= 0.0);
}

/// Each pair is open or closed; initially open.
class ContactStates {
 public:
  explicit ContactStates(std::size_t n_pairs) : closed_(n_pairs, 0) {}

  [[nodiscard]] std::size_t n_pairs() const { return closed_.size(); }
  [[nodiscard]] bool closed(std::size_t pair) const { return closed_[pair] != 0; }
  void set_closed(std::size_t pair, bool closed) { closed_[pair] = closed ? 1 : 0; }
  [[nodiscard]] bool any_closed() const {
    return std::ranges::any_of(closed_, [](char c) { return c != 0; });
  }

 private:
  std::vector<char> closed_;
};

/// The root functions for locating onset and separation of contacts, and the end of sliding.
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

/// A point of the course of a gap between two states, the cubic through gap and gap rate at both.
struct GapPoint {
  double t = 0.0;         ///< [s]
  double gap = 0.0;       ///< [m] negative in penetration
  double gap_rate = 0.0;  ///< [m/s] negative while approaching
};

/// Minimum and maximum strictly between `a` and `b`, where the rate vanishes; none = the ends are the extremes.
/// @pre a.t < b.t
[[nodiscard]] std::optional<GapPoint> lowest_between(const GapPoint& a, const GapPoint& b);
[[nodiscard]] std::optional<GapPoint> highest_between(const GapPoint& a, const GapPoint& b);
/// The point of the cubic where the gap changes its sign, on its side of contact. @pre it does
[[nodiscard]] GapPoint gap_root(const GapPoint& a, const GapPoint& b);
/// Points strictly between `a` and `b`, ascending, where the contact begins and ends, and where its gap turns: with a
/// rate of exactly zero.
[[nodiscard]] std::vector<GapPoint> contact_divisions(const GapPoint& a, const GapPoint& b);

}  // namespace heelstrike::mbs
