/// Counts how often contact forces turn back while bodies touch: an undamped vibration of a contact is followed by any
/// integrator with error control, tens of steps to the period, and nobody who looks at forces over seconds sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"

namespace heelstrike::mbs {

class VibrationDetector {
 public:
  explicit VibrationDetector(std::size_t n_pairs) : pairs_(n_pairs) {}

  /// An accepted step at whose end the pair touches. @param step_size  [s]
  void accept(std::size_t pair, double step_size, const Response& response);
  /// The pair does not touch.
  void forget(std::size_t pair) { pairs_[pair].known = 0; }

  /// A sentence when vibrations in contact have taken many steps; none otherwise.
  /// @param names  of the pairs
  [[nodiscard]] std::optional<std::string> describe(const std::vector<std::string>& names) const;

 private:
  struct Pair {
    Vector3 force = Vector3::Zero();   ///< [N] of the last step
    Vector3 change = Vector3::Zero();  ///< [N] in the last step
    int known = 0;                     ///< how much of these: 1 the force, 2 the change too
    std::int64_t steps = 0;            ///< in contact
    std::int64_t turns = 0;            ///< of the force: two to a period
    double time = 0.0;                 ///< [s] in contact
  };
  std::vector<Pair> pairs_;
};

}  // namespace heelstrike::mbs
