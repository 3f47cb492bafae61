/// Back-ends of a contact server.
#pragma once

#include <chrono>
#include <vector>

#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "scenario/backend_info.hpp"

namespace heelstrike::rpc {

/// The back-ends of the contact server at `fem`.
/// @param reconnect_timeout  for a connection lost during the call
/// @throws Error{unavailable} with the address without response within default_connect_timeout,
/// Error{version_mismatch}, Error{deadline}
[[nodiscard]] std::vector<BackendInfo> list_backends(
    const Endpoint& fem, std::chrono::milliseconds reconnect_timeout = query_reconnect_timeout);

}  // namespace heelstrike::rpc
