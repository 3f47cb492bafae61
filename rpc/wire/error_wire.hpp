/// Error <-> message and gRPC status. The only mapping between codes and statuses (table in docs/reference/protocol.md,
/// tested in tests/unit/rpc).
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "common/errors/error.hpp"
#include "heelstrike/v1/types.pb.h"

namespace grpc {
class ClientContext;
class ServerContextBase;
}  // namespace grpc

namespace heelstrike::wire {

/// Key of the trailing metadata with the complete Error of a failed call.
inline constexpr char error_metadata_key[] = "heelstrike-error-bin";

void to_proto(const Error& from, v1::Error& to);
/// An unknown or unset code becomes `internal`.
[[nodiscard]] Error from_proto(const v1::Error& from);

/// Status code and message, without details.
[[nodiscard]] grpc::Status to_status(const Error& error);
/// The same, with the details in the trailing metadata of `context`.
[[nodiscard]] grpc::Status to_status(const Error& error, grpc::ServerContextBase& context);

/// @param details  content of the trailing metadata; empty if the peer sent none (not a Heelstrike server, or a lost
/// connection): the code is then inferred from the status
/// @param where    call and address, for the message
[[nodiscard]] Error from_status(const grpc::Status& status, const std::string& details, const std::string& where);
[[nodiscard]] Error from_status(const grpc::Status& status, const grpc::ClientContext& context,
                                const std::string& where);

}  // namespace heelstrike::wire
