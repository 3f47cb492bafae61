#include "common/rpc/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "common/config/version.hpp"
#include "common/errors/error.hpp"
#include "common/wire/error_wire.hpp"

namespace heelstrike::rpc {

void call(const std::string& what, const CallOptions& options,
          const std::function<grpc::Status(grpc::ClientContext&)>& attempt) {
  const auto deadline = std::chrono::system_clock::now() + options.timeout;
  std::chrono::milliseconds pause{50};
  for (int i = 1;; ++i) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    const grpc::Status status = attempt(context);
    if (status.ok()) return;
    const bool out_of_time = std::chrono::system_clock::now() + pause >= deadline;
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE || i >= options.attempts || out_of_time) {
      throw_typed(wire::from_status(status, context, what));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds{2'000});
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
