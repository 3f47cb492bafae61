#include "mbs_server/service/fem_client.hpp"

#include "common/rpc/call.hpp"
#include "common/wire/parameter_wire.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"

namespace heelstrike::mbs {

BackendSchemas fetch_schemas(const rpc::Endpoint& endpoint) {
  const auto channel = rpc::make_channel(endpoint);
  rpc::wait_for_ready(*channel, endpoint);
  const auto stub = v1::ContactService::NewStub(channel);
  v1::ListBackendsResponse response;
  rpc::call("ListBackends of fem_server at " + endpoint.address,
            {.timeout = std::chrono::seconds{5}, .patience = rpc::question_patience},
            [&](grpc::ClientContext& context) { return stub->ListBackends(&context, {}, &response); });
  BackendSchemas schemas;
  for (const v1::BackendDescription& backend : response.backends()) {
    std::vector<ParameterSchema>& parameters = schemas[backend.name()];
    for (const v1::ParameterSchema& parameter : backend.parameters()) {
      parameters.push_back(wire::from_proto(parameter, wire::FieldPath("parameters")));
    }
  }
  return schemas;
}

}  // namespace heelstrike::mbs
