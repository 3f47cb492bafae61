#include "rpc/backend_list.hpp"

#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/call.hpp"
#include "rpc/wire/parameter_wire.hpp"

namespace heelstrike::rpc {

std::vector<BackendInfo> list_backends(const Endpoint& fem, std::chrono::milliseconds reconnect_timeout) {
  const std::string peer = "fem_server at " + fem.address;
  const CallOptions options{.timeout = std::chrono::seconds{5}, .reconnect_timeout = reconnect_timeout};
  const auto channel = make_channel(fem);
  wait_for_ready(*channel, fem);
  const auto stub = v1::ContactService::NewStub(channel);
  v1::VersionInfo version;
  call("GetVersion of " + peer, options,
       [&](grpc::ClientContext& context) { return stub->GetVersion(&context, {}, &version); });
  check_version(version, peer);
  v1::ListBackendsResponse response;
  call("ListBackends of " + peer, options,
       [&](grpc::ClientContext& context) { return stub->ListBackends(&context, {}, &response); });
  std::vector<BackendInfo> backends;
  for (const v1::BackendDescription& from : response.backends()) {
    BackendInfo backend{from.name(), from.summary(), from.reference(), {}, {}};
    for (const auto& parameter : from.parameters()) {
      backend.parameters.push_back(wire::from_proto(parameter, wire::FieldPath(backend.name)));
    }
    backend.surface_pairs.assign(from.surface_pairs().begin(), from.surface_pairs().end());
    backends.push_back(std::move(backend));
  }
  return backends;
}

}  // namespace heelstrike::rpc
