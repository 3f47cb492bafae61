/// From a specification to an open session; the same for LocalContact and the gRPC service.
#pragma once

#include <memory>
#include <string>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/session.hpp"

namespace heelstrike::fem {

/// sha256 of everything that the preparation depends on: back-end, parameters in force, surfaces with the digests of
/// their files, materials. The names of pair and bodies do not enter: a state may be restored under another name.
/// @param parameters  in force, as the back-end returns them
[[nodiscard]] std::string pair_digest(const PairSpec& pair, const ParameterMap& parameters);

/// Checks, prepares, opens.
/// @throws Error{invalid_input} for a pair that cannot be accepted, Error{not_found} for a missing asset,
/// Error{cancelled}
[[nodiscard]] std::unique_ptr<Session> open_session(const PairSpec& pair, const PrepareContext& context);

}  // namespace heelstrike::fem
