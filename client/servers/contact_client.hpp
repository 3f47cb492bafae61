/// What the client itself asks a contact server.
#pragma once

#include <vector>

#include "client/runs/backend_info.hpp"
#include "common/rpc/channel.hpp"

namespace heelstrike::client {

/// @throws Error{unavailable} when nobody answers within rpc::connect_patience, Error{version_mismatch},
/// Error{deadline}
[[nodiscard]] std::vector<BackendInfo> list_backends(const rpc::Endpoint& fem);

}  // namespace heelstrike::client
