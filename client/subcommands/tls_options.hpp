/// Options of an encrypted connection, with the same wording for all programs.
#pragma once

#include <string>

#include "rpc/channel.hpp"

namespace CLI {
class App;
}

namespace heelstrike::client {

/// --tls-ca, --tls-cert, --tls-key, --tls-authority
void add_tls_options(CLI::App& command, rpc::ClientTls& tls, const std::string& group);

}  // namespace heelstrike::client
