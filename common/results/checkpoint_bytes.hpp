/// A checkpoint as bytes that its maker keeps: the states that libraries and units hand out. Exact both ways.
#pragma once

#include <string>
#include <string_view>

#include "common/results/run_records.hpp"

namespace heelstrike {

[[nodiscard]] std::string checkpoint_bytes(const Checkpoint& checkpoint);
/// @param field  for messages. @throws Error{invalid_input} for bytes that are none
[[nodiscard]] Checkpoint checkpoint_from(std::string_view bytes, const std::string& field);

}  // namespace heelstrike
