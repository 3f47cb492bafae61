/// What the multibody server asks its contact server besides contact itself.
#pragma once

#include "common/config/scenario.hpp"
#include "common/rpc/channel.hpp"

namespace heelstrike::mbs {

/// Parameter schemas of the back-ends of the contact server at `endpoint`.
/// @throws Error{unavailable} naming the address when nobody answers within 4 s, Error{deadline}
[[nodiscard]] BackendSchemas fetch_schemas(const rpc::Endpoint& endpoint);

}  // namespace heelstrike::mbs
