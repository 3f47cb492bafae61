/// Serialised state of a session with a trailing digest. It contains all data for a bit-identical continuation,
/// including the response to a repeated commit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/contact/contact.hpp"

namespace heelstrike::fem {

/// Origin of the states that a session accepts.
enum class StateOrigin {
  same_pair,         ///< same digest
  tuned_parameters,  ///< pair may differ in tunable parameters; the caller guarantees that nothing else differs
};

struct SessionRecord {
  std::string backend;
  std::string digest;
  std::string history;  ///< from History::save
  std::int64_t step = -1;
  PairState state;
  Response response;
  StateOrigin origin = StateOrigin::same_pair;  ///< accepted origin; not part of the bytes
};

[[nodiscard]] std::string session_bytes(const SessionRecord& record);

/// @param pair  name for messages
/// @throws Error{invalid_input} for bytes of another format, corrupt bytes, another back-end or another digest
[[nodiscard]] SessionRecord session_record(std::string_view bytes, const std::string& pair, const std::string& backend,
                                           const std::string& digest, StateOrigin origin = StateOrigin::same_pair);

}  // namespace heelstrike::fem
