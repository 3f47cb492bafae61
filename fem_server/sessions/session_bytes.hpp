/// The saved state of a session as bytes, with a digest at their end: everything that makes a restored session go on
/// with the same bits, the answer to a repeated commit included.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/contact/contact.hpp"

namespace heelstrike::fem {

/// Whose state a session takes.
enum class StateOrigin {
  same_pair,         ///< of the same digest
  tuned_parameters,  ///< of a pair that may differ in tunable parameters; whoever asks for it knows that nothing else
                     ///< does
};

struct SessionRecord {
  std::string backend;
  std::string digest;
  std::string history;  ///< as History::save made it
  std::int64_t step = -1;
  PairState state;
  Response response;
  StateOrigin origin = StateOrigin::same_pair;  ///< that is taken; not part of the bytes
};

[[nodiscard]] std::string session_bytes(const SessionRecord& record);

/// @param pair  name for messages
/// @throws Error{invalid_input} for bytes of another format, damaged bytes, another back-end or another digest
[[nodiscard]] SessionRecord session_record(std::string_view bytes, const std::string& pair, const std::string& backend,
                                           const std::string& digest, StateOrigin origin = StateOrigin::same_pair);

}  // namespace heelstrike::fem
