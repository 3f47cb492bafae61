/// Unary calls to a contact server: upload of files by content, list of back-ends.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "scenario/backend_info.hpp"

namespace heelstrike::rpc {

/// Queries by digest first and sends the content only if the server does not have it.
/// @returns true if the server already had it
/// @throws Error{limit} if it is larger than the server accepts, or, with retryable(), while other uploads occupy its
/// memory; Error{invalid_input} if digest and content differ
bool upload_asset(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& peer,
                  const CallOptions& options);

/// The back-ends of the contact server at `fem`.
/// @param reconnect_timeout  for a connection lost during the call
/// @throws Error{unavailable} with the address without response within default_connect_timeout,
/// Error{version_mismatch}, Error{deadline}
[[nodiscard]] std::vector<BackendInfo> list_backends(
    const Endpoint& fem, std::chrono::milliseconds reconnect_timeout = query_reconnect_timeout);

}  // namespace heelstrike::rpc
