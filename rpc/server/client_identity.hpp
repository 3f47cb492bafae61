/// Who is calling.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

namespace heelstrike::rpc {

struct ClientIdentity {
  /// What runs and sessions are bound to: digest of subject and alternative names of the certificate that the client
  /// has proved to hold. A renewed certificate with the same names is the same client. Empty without mutual TLS: nobody
  /// can be told from anybody else.
  std::string owner;
  /// What budgets are counted by: the owner, else the machine.
  std::string account;
};

[[nodiscard]] ClientIdentity identity_of(const grpc::ServerContextBase& context);

/// Whether `client` may touch what belongs to `owner`; what was made without a certificate belongs to everybody.
[[nodiscard]] inline bool has_access(const std::string& owner, const ClientIdentity& client) {
  return owner.empty() || owner == client.owner;
}

}  // namespace heelstrike::rpc
