/// A contact partner that may die and come back without what it knew, and a run that does not notice.
#pragma once

#include <chrono>
#include <string>

#include "common/contact/contact.hpp"

namespace heelstrike::rpc {

struct RecoveryOptions {
  std::chrono::milliseconds reconnect_timeout{};   ///< from a loss until the sessions are open again; 0 = a loss is final
  bool retry_first_open = false;  ///< the first opening, too, is tried again for so long
  std::string peer;                       ///< program and address, for messages
};

/// A factory whose contact opens its pairs anew with `open` when the partner answers that it does not know them
/// (Error{not_found}): it has been killed and started again, or has given them up. The histories are brought back to
/// the last commit that was answered: those saved last, and the commits since, one after the other. Then what was asked
/// is asked again. Evaluations are pure and commits deterministic, so that every answer has the bits it would have had.
///
/// A partner that cannot be reached is not lost: `open` and its contact wait for it as long as they are told to.
///
/// The contact it makes throws what `open` and its contact throw, and after its patience the last of that for good;
/// Error{version_mismatch} when another program has come back, which prepares the pairs otherwise.
/// @param open  makes contacts that are BatchContact too
[[nodiscard]] ContactFactory recovering(ContactFactory open, RecoveryOptions options);

}  // namespace heelstrike::rpc
