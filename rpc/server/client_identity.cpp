#include "rpc/server/client_identity.hpp"

#include <grpc/grpc_security_constants.h>

#include "common/files/digest.hpp"

namespace heelstrike::rpc {

namespace {

/// "ipv4:10.0.0.7:51234" -> "ipv4:10.0.0.7": the ports of a client differ between connections.
std::string machine_of(const std::string& peer) {
  return peer.starts_with("ipv") ? peer.substr(0, peer.rfind(':')) : peer;
}

}  // namespace

ClientIdentity identity_of(const grpc::ServerContextBase& context) {
  ClientIdentity identity{.owner = {}, .account = machine_of(context.peer())};
  const auto certificate = context.auth_context();
  if (!certificate || !certificate->IsPeerAuthenticated()) return identity;
  std::string names;
  for (const char* property : {GRPC_X509_SUBJECT_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME}) {
    for (const grpc::string_ref& value : certificate->FindPropertyValues(property)) {
      names.append(property).append(1, '\0').append(value.data(), value.size()).append(1, '\0');
    }
  }
  if (names.empty()) {  // a certificate without names is identified by its content
    for (const grpc::string_ref& value : certificate->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
      names.append(value.data(), value.size());
    }
  }
  identity.owner = sha256_hex(names);
  identity.account = identity.owner;
  return identity;
}

}  // namespace heelstrike::rpc
