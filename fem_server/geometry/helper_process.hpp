/// A helper program that receives one message on standard input and replies with one on standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace heelstrike::fem {

/// Starts `path`, writes `request`, closes the pipe and reads the reply until the process exits. The helper is killed
/// on a stop request, on timeout, or when the reply exceeds `max_reply_bytes` bytes.
/// @param timeout  [s]
/// @param on_wait  called about twenty times per second; may be empty
/// @throws Error{file} when the program is missing or cannot be started; Error{unavailable} without a channel to it;
/// Error{cancelled}; Error{deadline}; Error{limit}; Error{solver_failed} on termination by a signal or with a nonzero
/// exit code
[[nodiscard]] std::string run_helper(const std::string& path, const std::string& request, double timeout,
                                     std::uint64_t max_reply_bytes, const std::stop_token& stop,
                                     const std::function<void()>& on_wait = {});

}  // namespace heelstrike::fem
