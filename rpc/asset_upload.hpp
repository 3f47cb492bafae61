/// Upload of files to a contact server, by content.
#pragma once

#include <string>

#include "common/contact/contact.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/call.hpp"

namespace heelstrike::rpc {

/// Queries by digest first and sends the content only if the server does not have it.
/// @returns true if the server already had it
/// @throws Error{limit} if it is larger than the server accepts, or, with retryable(), while other uploads occupy its
/// memory; Error{invalid_input} if digest and content differ
bool upload_asset(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& peer,
                  const CallOptions& options);

}  // namespace heelstrike::rpc
