/// Why two sides do not get to talk to each other. gRPC knows it and keeps it to itself.
#pragma once

#include <chrono>
#include <string>

#include "rpc/channel.hpp"

namespace heelstrike::rpc {

/// Connects once more, by hand, and looks where that ends: nobody there, one side with TLS and the other without,
/// authority, name or date of a certificate, a client certificate that is missing or not accepted.
/// @returns a sentence with what to do; empty when nothing is wrong that can be seen from here
[[nodiscard]] std::string diagnose(const Endpoint& endpoint, std::chrono::milliseconds timeout);

/// @param certificate, key  PEM texts; @param what  whose they are, for the message
/// @throws Error{invalid_input} when the key is not the certificate's
void check_key_pair(const std::string& certificate, const std::string& key, const std::string& what);

}  // namespace heelstrike::rpc
