#include "rpc/contact_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "rpc/wire/pair_spec_wire.hpp"

namespace heelstrike::rpc {

namespace {

v1::UploadAssetRequest header_of(const AssetContent& asset) {
  v1::UploadAssetRequest request;
  auto& header = *request.mutable_header();
  header.set_sha256(asset.sha256);
  header.set_name(asset.name);
  header.set_size_bytes(asset.content.size());
  return request;
}

/// A header without content queries whether the server has the content.
bool exists(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& what,
            const CallOptions& options) {
  try {
    call(what, options, [&](grpc::ClientContext& context) {
      v1::UploadAssetResponse response;
      const auto writer = stub.UploadAsset(&context, &response);
      writer->Write(header_of(asset));
      writer->WritesDone();
      return writer->Finish();
    });
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return false;
    throw;
  }
}

void send(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& what,
          const CallOptions& options) {
  call(what, options, [&](grpc::ClientContext& context) {
    v1::UploadAssetResponse response;
    const auto writer = stub.UploadAsset(&context, &response);
    bool accepted = writer->Write(header_of(asset));
    v1::UploadAssetRequest part;
    for (std::size_t sent = 0; accepted && sent < asset.content.size(); sent += upload_chunk_bytes) {
      const std::size_t n = std::min(upload_chunk_bytes, asset.content.size() - sent);
      part.set_chunk(asset.content.data() + sent, n);
      accepted = writer->Write(part);
    }
    writer->WritesDone();
    return writer->Finish();
  });
}

}  // namespace

bool upload_asset(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& peer,
                  const CallOptions& options) {
  const std::string what = fmt::format("UploadAsset of '{}' to {}", asset.name, peer);
  if (exists(stub, asset, what, options)) return true;
  send(stub, asset, what, options);
  return false;
}

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
