/// Files to a contact server, by content.
#pragma once

#include <string>

#include "common/contact/contact.hpp"
#include "rpc/call.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"

namespace heelstrike::rpc {

/// Asks by digest first and sends the content only when the server does not have it.
/// @returns true when the content was already there
/// @throws Error{limit} when it is larger than the server accepts; Error{invalid_input} when digest and content differ
bool upload_asset(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& peer,
                  const CallOptions& options);

}  // namespace heelstrike::rpc
