/// Open or closed state of the pairs: the discrete part of the state of a run.
#pragma once

#include <algorithm>
#include <cstddef>
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

}  // namespace heelstrike::mbs
