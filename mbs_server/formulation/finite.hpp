/// Detection of non-finite entries (infinite or NaN).
#pragma once

#include <Eigen/Core>

#include <cmath>

namespace heelstrike::mbs {

/// Index of the first non-finite entry; -1 = none.
[[nodiscard]] inline Eigen::Index first_not_finite(const Eigen::Ref<const Eigen::VectorXd>& v) {
  if (v.allFinite()) return -1;
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    if (!std::isfinite(v[i])) return i;
  }
  return -1;
}

}  // namespace heelstrike::mbs
