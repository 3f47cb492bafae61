#include "rpc/call.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "rpc/backoff.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike::rpc {

bool is_connection_lost(const grpc::Status& status, const grpc::ClientContext& context) {
  if (context.GetServerTrailingMetadata().contains(wire::error_metadata_key)) {
    const Error error = wire::from_status(status, context, "");
    return error.code() == ErrorCode::unavailable && error.field() == wire::checksum_field;
  }
  // These codes also indicate messages that are too large or unreadable, for which a retry does not help.
  const std::string& text = status.error_message();
  const auto says = [&text](const char* words) { return text.find(words) != std::string::npos; };
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:  // by a stopping server
      return true;
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      return says("RST_STREAM") || says("Stream removed");
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return says("Threadpool Exhausted") || says(stream_limit_message);
    default:
      return false;
  }
}

void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt) {
  const bool stopped_before = options.stop.stop_requested();
  const std::stop_token stop = stopped_before ? std::stop_token() : options.stop;
  Backoff backoff(stopped_before ? std::chrono::milliseconds{0} : options.reconnect_timeout, stop);
  while (true) {
    grpc::ClientContext context;
    if (options.timeout) context.set_deadline(std::chrono::system_clock::now() + *options.timeout);
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const WatchdogThread watch(options.reply_watchdog, context);
    const grpc::Status status = attempt(context);
    if (status.ok()) return;
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, what + ": stopped on request");
    if (!is_connection_lost(status, context) || !backoff.pause()) throw_typed(wire::from_status(status, context, what));
  }
}

void check_version(const v1::VersionInfo& version, const std::string& peer) {
  if (version.contract() == contract_version) return;
  throw Error(
      ErrorCode::version_mismatch,
      fmt::format("{} speaks contract {} (program {}), this program speaks contract {} (program {}); install the "
                  "same version on both sides",
                  peer, version.contract(), version.version(), contract_version, program_version),
      "contract");
}

}  // namespace heelstrike::rpc
