/// Diagnosis of failed connections, whose cause gRPC does not report.
#pragma once

#include <chrono>
#include <string>

#include "rpc/channel.hpp"

namespace heelstrike::rpc {

/// Connects again, without gRPC, to find the cause: no server, TLS on one side only, authority, name or date of a
/// certificate, a client certificate that is missing or not accepted.
/// @returns a sentence with the remedy; empty without a detectable cause
[[nodiscard]] std::string diagnose(const Endpoint& endpoint, std::chrono::milliseconds timeout);

/// @param certificate, key  PEM texts;
/// @param what  their owner, for the message
/// @throws Error{invalid_input} if the key does not match the certificate
void check_key_pair(const std::string& certificate, const std::string& key, const std::string& what);

}  // namespace heelstrike::rpc
