/// Finds entries that are infinite or not a number.
#pragma once

#include <Eigen/Core>

#include <cmath>

namespace heelstrike::mbs {

/// Index of the first entry that is infinite or not a number; -1 when there is none.
[[nodiscard]] inline Eigen::Index first_not_finite(const Eigen::Ref<const Eigen::VectorXd>& v) {
  if (v.allFinite()) return -1;
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    if (!std::isfinite(v[i])) return i;
  }
  return -1;
}

}  // namespace heelstrike::mbs
