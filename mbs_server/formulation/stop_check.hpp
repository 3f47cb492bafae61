/// Ends long computations that have been stopped from outside.
#pragma once

#include <stop_token>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

/// To be called at least every tenth of a second of work. @throws Error{cancelled} when stopped
inline void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped on request");
}

}  // namespace heelstrike::mbs
