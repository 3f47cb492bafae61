/// Transparent recovery of a run from the restart of its contact partner.
#pragma once

#include <chrono>
#include <string>

#include "common/contact/contact.hpp"

namespace heelstrike::rpc {

struct RecoveryOptions {
  std::chrono::milliseconds
      reconnect_timeout{};        ///< from a loss until the sessions are open again; 0 = a loss is final
  bool retry_first_open = false;  ///< the first opening is also retried within this time
  std::string peer;               ///< program and address, for messages
};

/// A factory whose contact reopens its pairs with `open` if the partner reports them as unknown (Error{not_found}),
/// after its restart or their expiry. The histories are restored to the last completed commit: the last saved ones,
/// then the commits since, in sequence. Then the request is repeated. Evaluations are pure and commits deterministic,
/// so that all responses are bitwise equal to those without loss.
///
/// An unreachable partner is not lost: `open` and its contact wait for it within their timeouts.
///
/// The contact throws the errors of `open` and its contact, and after the reconnect timeout permanently the last of
/// them; Error{version_mismatch} if the restarted partner is another program with a different preparation.
/// @param open  creates contacts that are also BatchContact
[[nodiscard]] ContactFactory recovering(ContactFactory open, RecoveryOptions options);

}  // namespace heelstrike::rpc
