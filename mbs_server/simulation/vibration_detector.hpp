/// Counts reversals of contact forces during contact: integrators with error control resolve an undamped vibration of a
/// contact with tens of steps per period, although it is invisible in forces over seconds.
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

  /// An accepted step that ends with the pair in contact. @param step_size  [s]
  void accept(std::size_t pair, double step_size, const Response& response);
  /// The pair is not in contact.
  void forget(std::size_t pair) { pairs_[pair].known = 0; }

  /// Warning if vibrations in contact required many steps; else none.
  /// @param names  of the pairs
  [[nodiscard]] std::optional<std::string> describe(const std::vector<std::string>& names) const;

 private:
  struct Pair {
    Vector3 force = Vector3::Zero();   ///< [N] of the last step
    Vector3 change = Vector3::Zero();  ///< [N] in the last step
    int known = 0;                     ///< number of known values: 1 the force, 2 also the change
    std::int64_t steps = 0;            ///< in contact
    std::int64_t turns = 0;            ///< reversals of the force: two per period
    double time = 0.0;                 ///< [s] in contact
  };
  std::vector<Pair> pairs_;
};

}  // namespace heelstrike::mbs
