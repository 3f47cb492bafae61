#include "rpc/channel.hpp"

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "common/errors/error.hpp"
#include "rpc/address.hpp"
#include "rpc/tls_diagnosis.hpp"

namespace heelstrike::rpc {

namespace {

int milliseconds(std::chrono::milliseconds duration) {
  return static_cast<int>(duration.count());
}

grpc::ChannelArguments channel_arguments(const Endpoint& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(keepalive_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(keepalive_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(reconnect_backoff_min));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(reconnect_backoff_max));
  // In gRPC this is the timeout of one attempt, despite its name.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, milliseconds(connect_attempt_timeout));
  // Retries are done by the caller, for safe calls only; those of gRPC would buffer every message of the hot path.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // One connection per channel: two runs in one process share neither a congestion window nor a failure.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(endpoint.max_message_bytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(endpoint.max_message_bytes));
  if (!endpoint.tls.authority.empty()) {
    arguments.SetSslTargetNameOverride(endpoint.tls.authority);
  }
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const ClientTls& tls) {
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    throw input_error("tls", "mutual TLS requires both a certificate file and a key file; only one of them is given");
  }
  if (!tls.enabled()) {
    if (tls.certificate_file.empty()) return grpc::InsecureChannelCredentials();
    throw input_error("tls", "a client certificate without the CA file has no effect; give the CA file, too");
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_pem(tls.ca_file, "CA file");
  if (!tls.certificate_file.empty()) {
    options.pem_cert_chain = read_pem(tls.certificate_file, "certificate file");
    options.pem_private_key = read_pem(tls.key_file, "key file");
    check_key_pair(options.pem_cert_chain, options.pem_private_key, tls.certificate_file);
  }
  return grpc::SslCredentials(options);
}

}  // namespace

std::string read_pem(const std::string& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw file_error(path, fmt::format("{} '{}' cannot be read; check path and permissions", what, path));
  if (content.find("-----BEGIN ") == std::string::npos) {
    throw file_error(path, fmt::format("{} '{}': expected PEM text with a BEGIN line, found none", what, path));
  }
  return content;
}

std::shared_ptr<grpc::Channel> make_channel(const Endpoint& endpoint) {
  const Address address = parse_address(endpoint.address);
  return grpc::CreateCustomChannel(address.text(), credentials(endpoint.tls), channel_arguments(endpoint));
}

void wait_for_ready(grpc::Channel& channel, const Endpoint& endpoint, std::chrono::milliseconds timeout) {
  const auto begin = std::chrono::system_clock::now();
  if (channel.WaitForConnected(begin + timeout / 3)) return;
  // A server that rejects the connection continues to do so. Limited to half of the timeout, because a lost server uses
  // all of it.
  const std::string cause = diagnose(endpoint, timeout / 2);
  if (!cause.empty())
    throw Error(ErrorCode::unavailable, fmt::format("the server at {} cannot be used: {}", endpoint.address, cause));
  if (channel.WaitForConnected(begin + timeout)) return;
  throw unavailable_error(
      fmt::format("no server responds at {} within {:.1f} s; check that it is running, that the address is right, and "
                  "that both sides use TLS or neither",
                  endpoint.address, static_cast<double>(timeout.count()) / 1000.0));
}

void set_poll_strategy() {
  constexpr int keep = 0;
  ::setenv("GRPC_POLL_STRATEGY", "poll", keep);
}

}  // namespace heelstrike::rpc
