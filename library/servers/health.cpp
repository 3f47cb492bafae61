#include "library/servers/health.hpp"

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <vector>

#include "common/errors/error.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike {
namespace {

// HealthCheckResponse{status: SERVING} on the wire: field 1, value 1. The message is too small for generated code.
const std::string serving{"\x08\x01", 2};

std::string bytes_of(grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

}  // namespace

void check_health(const std::shared_ptr<grpc::Channel>& channel, const std::string& where) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{5});
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC,
                                         channel);
  const grpc::Slice empty("", 0);  // HealthCheckRequest{service: ""}: the whole server
  const grpc::ByteBuffer request(&empty, 1);
  grpc::ByteBuffer response;
  const grpc::Status status = grpc::internal::BlockingUnaryCall(channel.get(), method, &context, request, &response);
  if (!status.ok()) throw wire::from_status(status, context, "health check of " + where);
  if (bytes_of(response) != serving) {
    throw unavailable_error(fmt::format("{} reports that it is not serving; it is starting or shutting down", where));
  }
}

}  // namespace heelstrike
