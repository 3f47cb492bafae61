/// Public numbers to those inside and back.
#pragma once

#include <string>

#include <heelstrike/options.hpp>
#include <heelstrike/types.hpp>

#include "library/runs/run_request.hpp"
#include "common/contact/contact.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::bindings {

/// @throws Error{invalid_input} for a rotation that is none to 1e-6, and for numbers that are not finite
[[nodiscard]] PairState inside(const hs::State& state);
void take(const Response& from, hs::Response& to);
[[nodiscard]] Overrides inside(const hs::Changes& changes);
[[nodiscard]] rpc::ClientTls inside(const hs::Tls& tls);
/// Contact at the server that was named, else in this process. @throws Error{invalid_input} for a negative patience
[[nodiscard]] ContactFactory contact_source(const hs::OpenOptions& options);
/// A reading that begins with opening, and calls the user's on_progress.
[[nodiscard]] OpenContext open_context(const hs::OpenOptions& options);

}  // namespace heelstrike::bindings
