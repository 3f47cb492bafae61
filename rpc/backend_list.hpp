/// What a contact server offers.
#pragma once

#include <chrono>
#include <vector>

#include "scenario/backend_info.hpp"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::rpc {

/// The back-ends of the contact server at `fem`.
/// @param patience  with a connection that is lost while it answers
/// @throws Error{unavailable} naming the address when nobody answers within default_connect_timeout, Error{version_mismatch},
/// Error{deadline}
[[nodiscard]] std::vector<BackendInfo> list_backends(const Endpoint& fem,
                                                     std::chrono::milliseconds reconnect_timeout = query_reconnect_timeout);

}  // namespace heelstrike::rpc
