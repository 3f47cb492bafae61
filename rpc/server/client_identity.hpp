/// Identity of a client.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

namespace heelstrike::rpc {

struct ClientIdentity {
  /// Owner of runs and sessions: digest of subject and alternative names of the verified client certificate. A renewed
  /// certificate with the same names identifies the same client. Empty without mutual TLS: clients cannot be
  /// distinguished.
  std::string owner;
  /// Account of budgets: the owner, else the machine.
  std::string account;
};

[[nodiscard]] ClientIdentity identity_of(const grpc::ServerContextBase& context);

/// True if `client` may access objects of `owner`; objects created without a certificate are accessible to all.
[[nodiscard]] inline bool has_access(const std::string& owner, const ClientIdentity& client) {
  return owner.empty() || owner == client.owner;
}

}  // namespace heelstrike::rpc
