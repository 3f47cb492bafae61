/// Health and reflection without their generated code, which Debian does not install: messages as bytes.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/sync_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {

inline grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

inline std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  std::string bytes;
  for (const auto& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

/// HealthCheckRequest{service}
inline std::string health_request(const std::string& service) {
  return service.empty() ? std::string() : std::string("\x0a") + static_cast<char>(service.size()) + service;
}

/// "SERVING", "NOT_SERVING", or the status of the call.
inline std::string health_name(const std::string& response) {
  if (response == std::string("\x08\x01")) return "SERVING";
  if (response == std::string("\x08\x02")) return "NOT_SERVING";
  return "unknown response";
}

inline std::string check_health(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + scaled_time_limit(std::chrono::seconds{10}));
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ByteBuffer response;
  const auto status = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
      channel.get(), method, &context, buffer_of(health_request(service)), &response);
  return status.ok() ? health_name(bytes_of(response)) : "status " + std::to_string(status.error_code());
}

/// Follows the health of a service as it changes.
class HealthWatch {
 public:
  HealthWatch(std::shared_ptr<grpc::Channel> channel, const std::string& service) : channel_(std::move(channel)) {
    context_.set_deadline(std::chrono::system_clock::now() + scaled_time_limit(std::chrono::seconds{30}));
    reader_.reset(grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(channel_.get(), method_, &context_,
                                                                                buffer_of(health_request(service))));
  }
  ~HealthWatch() {
    context_.TryCancel();
    grpc::ByteBuffer rest;
    while (reader_->Read(&rest)) {
    }
    (void)reader_->Finish();
  }
  std::string next() {
    grpc::ByteBuffer response;
    return reader_->Read(&response) ? health_name(bytes_of(response)) : "stream ended";
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::internal::RpcMethod method_{"/grpc.health.v1.Health/Watch", grpc::internal::RpcMethod::SERVER_STREAMING};
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader_;
};

/// The response to ServerReflectionRequest{list_services: "*"} as bytes, which contain the names of the services.
inline std::string list_services(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + scaled_time_limit(std::chrono::seconds{10}));
  const grpc::internal::RpcMethod method("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(channel.get(), method,
                                                                                            &context));
  stream->Write(buffer_of("\x3a\x01*"));
  stream->WritesDone();
  grpc::ByteBuffer response;
  std::string bytes;
  while (stream->Read(&response)) bytes += bytes_of(response);
  (void)stream->Finish();
  return bytes;
}

}  // namespace heelstrike::testing_support
