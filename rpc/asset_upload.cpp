#include "rpc/asset_upload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "rpc/call.hpp"
#include "rpc/channel.hpp"

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
bool is_there(v1::ContactService::StubInterface& stub, const AssetContent& asset, const std::string& what,
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
  if (is_there(stub, asset, what, options)) return true;
  send(stub, asset, what, options);
  return false;
}

}  // namespace heelstrike::rpc
