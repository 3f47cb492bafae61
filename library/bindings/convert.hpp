/// Conversion between public and internal numbers.
#pragma once

#include <string>

#include <heelstrike/options.hpp>
#include <heelstrike/types.hpp>

#include "common/contact/contact.hpp"
#include "library/runs/run_request.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::bindings {

/// @throws Error{invalid_input} for a matrix that is not a rotation to 1e-6, and for numbers that are not finite
[[nodiscard]] PairState inside(const hs::State& state);
void take(const Response& from, hs::Response& to);
[[nodiscard]] Overrides inside(const hs::Changes& changes);
[[nodiscard]] rpc::ClientTls inside(const hs::Tls& tls);
/// Contact on the named server, else in this process. @throws Error{invalid_input} for a negative timeout
[[nodiscard]] ContactFactory contact_source(const hs::OpenOptions& options);
/// An open context whose progress starts at zero and is passed to the user's on_progress.
[[nodiscard]] OpenContext open_context(const hs::OpenOptions& options);

}  // namespace heelstrike::bindings
