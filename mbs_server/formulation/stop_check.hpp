/// Cancellation of long computations.
#pragma once

#include <stop_token>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

/// Must be called at least every 0.1 s of computation. @throws Error{cancelled} when stopped
inline void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped on request");
}

}  // namespace heelstrike::mbs
