/// A helper program that gets one message on its standard input and answers with one on its standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace heelstrike::fem {

/// Starts `path`, writes `request`, closes, reads everything it answers until it ends. The helper is killed when
/// stopped, when time is up, or when the answer grows beyond `max_reply_bytes` bytes.
/// @param timeout  [s]
/// @param on_wait  called about twenty times a second; may be empty
/// @throws Error{file} when it is not there or cannot be started; Error{unavailable} without a channel to it;
///         Error{cancelled}; Error{deadline}; Error{limit}; Error{solver_failed} when it ends by a signal or with an
///         exit code other than 0
[[nodiscard]] std::string run_helper(const std::string& path, const std::string& request, double timeout,
                                     std::uint64_t max_reply_bytes, const std::stop_token& stop,
                                     const std::function<void()>& on_wait = {});

}  // namespace heelstrike::fem
