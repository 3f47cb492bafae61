/// Serialised checkpoints, as libraries and FMUs return them. Exact in both directions.
#pragma once

#include <string>
#include <string_view>

#include "common/results/run_records.hpp"

namespace heelstrike {

[[nodiscard]] std::string checkpoint_bytes(const Checkpoint& checkpoint);
/// @param field  for messages. @throws Error{invalid_input} for other bytes
[[nodiscard]] Checkpoint checkpoint_from(std::string_view bytes, const std::string& field);

}  // namespace heelstrike
