/// Unary calls: always with a deadline, retried only where repeating is safe.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <string>

#include "heelstrike/v1/types.pb.h"

namespace heelstrike::rpc {

struct CallOptions {
  std::chrono::milliseconds timeout{10'000};  ///< for all attempts together
  int attempts = 1;                           ///< more than 1 only for calls that may safely run twice
};

/// Runs `attempt` until it succeeds. After UNAVAILABLE it is repeated with exponential back-off (50 ms, 100 ms, ...)
/// while attempts and time last; any other failure is final.
/// @param what  what is called and where, for messages: "GetVersion at 127.0.0.1:50051"
/// @throws RecoverableError or Error as the peer answered; Error{unavailable} or Error{deadline} when it did not
void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt);

/// @param peer  program and address for the message: "fem_server at unix:/run/fem.sock"
/// @throws Error{version_mismatch} naming both versions unless the contracts agree
void check_version(const v1::VersionInfo& version, const std::string& peer);

}  // namespace heelstrike::rpc
