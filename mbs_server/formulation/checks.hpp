/// Detection of non-finite entries (infinite or NaN).
///
/// Cancellation of long computations.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stop_token>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

/// Index of the first non-finite entry; -1 = none.
[[nodiscard]] inline Eigen::Index first_not_finite(const Eigen::Ref<const Eigen::VectorXd>& v) {
  if (v.allFinite()) return -1;
  for (Eigen::Index i = 0; i < v.size(); ++i) {
    if (!std::isfinite(v[i])) return i;
  }
  return -1;
}

/// Must be called at least every 0.1 s of computation. @throws Error{cancelled} when stopped
inline void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped on request");
}

}  // namespace heelstrike::mbs
