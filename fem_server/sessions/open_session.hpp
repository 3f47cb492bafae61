/// Opens a session from a specification, for LocalContact and the gRPC service.
#pragma once

#include <memory>
#include <string>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/session.hpp"

namespace heelstrike::fem {

/// sha256 of all inputs of the preparation: back-end, effective parameters, surfaces with the digests of their files,
/// materials. Names of pair and bodies are excluded, so that a state can be restored under another name.
/// @param parameters  effective parameters, as returned by the back-end
[[nodiscard]] std::string pair_digest(const PairSpec& pair, const ParameterMap& parameters);

/// Checks and prepares the pair and opens the session.
/// @throws Error{invalid_input} for an invalid pair, Error{not_found} for a missing asset,
/// Error{cancelled}
[[nodiscard]] std::unique_ptr<Session> open_session(const PairSpec& pair, const PrepareContext& context);

}  // namespace heelstrike::fem
