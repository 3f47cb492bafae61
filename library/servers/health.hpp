/// The standard health check (grpc.health.v1.Health/Check) of every gRPC server program of Heelstrike.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace heelstrike {

/// @param where  for messages, e.g. "fem_server at localhost:50051"
/// @throws Error{unavailable} when the server reports that it is not serving, or does not respond within 5 s
void check_health(const std::shared_ptr<grpc::Channel>& channel, const std::string& where);

}  // namespace heelstrike
